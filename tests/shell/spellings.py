"""Command lines that run `rm`, and command lines that only look as if."""

from __future__ import annotations

_RUN = r"""
rm -rf x
  rm -rf x
\rm x
r\m x
'rm' x
"rm" x
r'm' x
r""m x
''rm x
"r"'m' x
rm>out x
rm</dev/null x
>out rm x
2>out rm x
</dev/null rm x
A=1 rm x
A=1 B='2 3' rm x
A= rm x
true;rm x
true && rm x
false || rm x
true & rm x
echo x | rm x
echo x |& rm x
! rm x
(rm x)
( rm x )
{ rm x; }
( (rm x) )
((rm) )
true && { rm x; }
time rm x
time -p rm x
env rm x
env A=1 rm x
env -i PATH="$PATH" rm x
env -u A rm x
env -S 'rm x'
env -S'rm x'
env --split-string='rm x'
env -- rm x
env env env rm x
nice rm x
nice -n 5 rm x
nice -5 rm x
nohup rm x
timeout 5 rm x
timeout -s KILL 5 rm x
timeout --signal=KILL 5 rm x
setsid -w rm x
stdbuf -oL rm x
command rm x
command -p rm x
command -- rm x
builtin command rm x
exec rm x
exec -a ls rm x
(exec rm x)
eval rm x
eval 'rm x'
eval "r""m x"
sh -c 'rm x'
sh -c "rm x"
sh -ec 'rm x'
bash -c 'rm x'
bash -c 'sh -c "rm x"'
dash -c 'true; rm x'
sh -c '"$@"' sh rm x
sh -c '$0 x' rm
sh <<< 'rm x'
echo 'rm x' | sh
echo rm x | bash -s
bash <(echo rm x)
. <(echo rm x)
source /dev/stdin <<< 'rm x'
echo x | xargs rm
echo x | xargs -n1 rm
echo x | xargs -I{} rm {}
echo rm x | xargs env
echo rm x | xargs -I% sh -c %
echo rm | xargs -I% % x
xargs rm < f.txt
xargs -a f.txt rm
find . -name f.txt -exec rm {} \;
find . -name f.txt -exec rm {} +
find . -name f.txt -execdir rm {} ';'
find . -name f.txt -exec sh -c 'rm x' \;
find . -name f.txt | xargs rm
$(echo rm) x
`echo rm` x
echo $(rm x)
echo "$(rm x)"
echo `rm x`
echo "`rm x`"
cat <(rm x)
echo x > >(rm x)
X=rm; $X x
X=rm; "$X" x
X=$(rm x)
${X:-rm} x
${X=rm} x
r${X}m x
r$@m x
r$*m x
$'rm' x
$'\x72\x6d' x
$"rm" x
{rm,x}
{rm,-f,x}
rm$IFS-f${IFS}x
if true; then rm x; fi
if rm x; then :; fi
for i in 1; do rm x; done
case x in x) rm x;; esac
f() { rm x; }; f
function f { rm x; }; f
f() (rm x); f
trap 'rm x' EXIT
trap 'rm x' 0
[[ -n "$(rm x)" ]]
[ -n "$(rm x)" ]
(( a[$(rm x)] ))
echo $((a[$(rm x)]))
let 'a[$(rm x)]=1'
test -v 'a[$(rm x)]'
printf -v 'a[$(rm x)]' x
unset 'a[$(rm x)]'
set -- rm x; "$@"
read c <<< rm; $c x
mapfile -t c <<< rm; ${c[0]} x
printf 'rm x' | sh
awk 'BEGIN{system("rm x")}'
awk 'BEGIN{"rm x"|getline}'
awk 'BEGIN{print "x"|"rm"}'
sed '1e rm x' f.py
sed 's/^.*$/rm x/e' f.py
flock -n lock rm x
flock -n lock -c 'rm x'
exec 3>out; rm x
ls & rm x
ls;rm x;
ls||rm x
ls&&rm x
ls|rm x
{ ls;rm x;}
(ls;rm x)
ls &>out & rm x
ls > out rm; rm x
ls "#"; rm x
ls \#; rm x
ls a#b; rm x
ls \\; rm x
ls '\'; rm x
ls "\\"; rm x
ls "'"; rm x
ls '"'; rm x
set -e; rm x
export A=1; rm x
ls -l $(echo) ; rm x
: && rm x
command -v ls; rm x
type ls; rm x
"""

RUN = [
    *_RUN.strip("\n").split("\n"),
    "\trm x",
    "r\\\nm x",
    "\\\nrm x",
    "ls\nrm x",
    "ls\n\n\nrm x",
    "# comment\nrm x",
    "ls # ; ls\nrm x",
    "ls \\\n\nrm x",
    "{ rm x\n}",
    "(\nrm x\n)",
    "ls &&\nrm x",
    "ls |\n\nrm x",
    "ls '\n' ; rm x",
    "sh <<E\nrm x\nE",
    "cat <<E\n$(rm x)\nE",
    "cat << E\n`rm x`\nE",
    "cat <<'E'\nbody\nE\nrm x",
    "cat <<E && rm x\nbody\nE",
    "cat <<-E\n\tbody\n\tE\nrm x",
    "sed -n '1{e rm x\n}' f.py",
    "alias q=rm\neval q x",
    "jobs -x rm x",
    "jobs -rx rm x",
    "bash -O extglob -c 'rm x'",
    "command eval rm x",
    "compgen -C 'rm x'",
]
"""bash starts `rm` for each of them."""

RUN_ELSEWHERE = [
    *(
        "/bin/rm x",
        "/usr/bin/rm x",
        "//bin/rm x",
        "/bin/../bin/rm x",
        "/bin/./rm x",
        "/proc/self/root/bin/rm x",
        "../../../bin/rm x",
    ),
    *(
        "sudo rm x",
        "sudo -u root rm x",
        "doas rm x",
        "su -c 'rm x'",
        "su root -c 'rm x'",
        "RM x",
        "Rm x",
        "busybox rm x",
        "watch rm x",
    ),
    *(
        "ssh host rm x",
        "ssh host 'ls; rm x'",
        "ssh -o ProxyCommand='rm x' host",
        "script -c 'rm x' out",
        "chroot / rm x",
        "unshare rm x",
    ),
    *(
        "tar cf x --checkpoint-action=exec='rm x' f",
        "tar cf x --checkpoint-act=exec='rm x' f",
        "tar -I 'rm x' -xf f",
        "tar xf f --to-command='rm x'",
    ),
    *(
        "git -c alias.x='!rm x' x",
        "git -c core.pager='rm x' log",
        "git clone -u 'rm x' a b",
        "git clone --upload-pack='rm x' a b",
        "git fetch --upload-p 'rm x' a",
    ),
    *(
        "git rebase -x 'rm x' HEAD~1",
        "git bisect run rm x",
        "git submodule foreach rm x",
        "git grep -O'rm x' a",
        "git clone 'ext::sh -c rm% x' b",
        "git x",
    ),
    *(
        "rsync -e 'rm x' a b:",
        "rsync --rsh='rm x' a b:",
        "sort --compress-program=rm x",
        "split --filter='rm x' f",
        "zip a b -T -TT 'rm x'",
        "man -P 'rm x' ls",
    ),
    *(
        "less '+!rm x' f",
        "vim -c '!rm x'",
        "parallel rm ::: x",
        "parallel ::: 'rm x'",
        "docker run alpine rm x",
        "docker exec c sh -c 'rm x'",
        "docker run --entrypoint rm alpine x",
    ),
    *(
        "kubectl exec pod -- rm x",
        "npx -c 'rm x'",
        "npm exec -- rm x",
        "uv run rm x",
        "poetry run rm x",
        "bundle exec rm x",
        "direnv exec . rm x",
    ),
    *(
        "ionice rm x",
        "ionice -c 3 rm x",
        "taskset 1 rm x",
        "strace rm x",
        "strace -f -o x rm x",
        "systemd-run rm x",
        "nsenter -t 1 -m rm x",
        "zsh -c 'rm x'",
        "fish -c 'rm x'",
    ),
    # Options of programs that have many others.
    *(
        "strace -o '|rm x' ls",
        "strace -o '!rm x' ls",
        "rg --pre rm x",
        "rg --hostname-bin=rm x",
        "ag --pager 'rm x' a",
        "nc -e rm host 1",
        "nc -lc 'rm x' 1",
        "ncat --sh-exec 'rm x' host 1",
        "tcpdump -G1 -z rm -w x",
        "wget --use-askpass=rm a",
        "wget -e use_askpass=rm a",
        "install --strip-program=rm -s a b",
        "apt-get -o APT::Update::Pre-Invoke::='rm x' update",
        "dpkg --pre-invoke='rm x' -i a",
        "git submodule -q foreach rm x",
        "git submodule --recursive foreach rm x",
        "tar xf host:f --rsh-command=rm",
    ),
    *(
        "tini -- rm x",
        "gosu root rm x",
        "sshpass -p a ssh host rm x",
        "ccache rm x",
        "sg root -c 'rm x'",
        "ip netns exec a rm x",
        "docker-compose exec a rm x",
        "kubectl exec pod -n a -c b -- rm x",
        "oc exec pod -- rm x",
        "adb shell rm x",
        "pipx run rm x",
        "hyperfine 'rm x'",
    ),
    *(
        "PATH=/tmp ls",
        "LD_PRELOAD=./x.so ls",
        "BASH_ENV=x bash -c ls",
        "GIT_SSH_COMMAND='rm x' git fetch",
        "PAGER='rm x' git log",
        "TAR_OPTIONS=x tar xf f",
        "env PATH=. ls",
    ),
    *(
        "rm\u00a0x; ls",
        "ls;\u00a0rm x",
        "ls\r\nrm x",
        "ls\x0brm",
        "rm\x00x",
        "ls !!",
        "ls `",
        "=rm x",
        "coproc rm x",
        "hash -p /bin/rm ls; ls x",
    ),
]
"""Not for the jail: other programs, machines, users or file systems. Each is undecidable or names `rm`."""

HARMLESS = [
    *(
        "echo rm",
        "echo 'rm -rf /'",
        'echo "; rm x"',
        "echo \\; rm x",
        "ls rm",
        "ls -rm",
        "ls # rm x",
        "ls '$(rm x)'",
        "ls 'a' # ; rm x",
    ),
    *(
        "grep rm f.txt",
        "grep -r 'rm -rf' .",
        "git rm x",
        "git log --grep='rm -rf'",
        'git commit -m "rm x; ls"',
        "echo x > rm.txt",
        "cat rm.txt",
    ),
    *(
        "cat 'rm' \"rm\"",
        "cat <<'E'\nrm x\n$(rm x)\nE",
        "cat <<E\nrm x\nE",
        "find . -name rm",
        "find . -name 'rm*' -print",
        "sed -n 's/rm/x/p' f.txt",
    ),
    *(
        "sed 's/;rm x/y/' f.txt",
        "awk '/rm/ {print $1}' f.txt",
        "command -v rm",
        "A=rm ls",
        "env A=rm ls",
        "ls \"a&&rm\" 'b|rm' c\\;rm",
        "ls a \\\nrm",
    ),
    *(
        "printf '%s\\n' rm",
        "make rm",
        "git branch rm",
        "xargs echo rm",
        "nice -n 5 ls rm",
        "sh -c 'ls rm'",
        "ls 'a\nrm x'",
        'cat "x\nrm"',
        "ls -- rm",
        "ls rm-rf",
    ),
    *(
        "ls x >rm.out 2>&1",
        "find . -name '*.rm' -exec ls {} \\;",
        "timeout 5 ls rm",
        "env -u rm ls",
        "git add rm && git status",
        "head -n1 rm | wc -l",
    ),
]
"""None of them starts `rm`, and each is decidable."""
