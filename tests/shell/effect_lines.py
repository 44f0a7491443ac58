"""Command lines by the least effects that the documentation of the program gives them: a pack may say more, never less.

Lines of one effect are separated by `;;`, so that a pipe or a semicolon may stand in them.
"""

# ruff: noqa: E501
from __future__ import annotations

_LINES = r"""
# git: read
git status ;; git status -sb ;; git --no-pager diff ;; git diff HEAD~1 -- a ;; git log -p -S foo ;; git log --format=%H ;; git show HEAD:a
git blame -L 1,5 a ;; git ls-files -o ;; git branch ;; git branch -a ;; git branch -vv ;; git branch --list 'a*' ;; git branch --merged ;; git tag
git tag -l 'v*' ;; git remote -v ;; git remote ;; git stash list ;; git stash show -p ;; git config --get user.name ;; git config --list
git config -l ;; git config get user.name ;; git rev-parse HEAD ;; git describe --tags ;; git shortlog -sn ;; git reflog ;; git worktree list
git submodule status ;; git cat-file -p HEAD ;; git ls-tree -r HEAD ;; git grep foo ;; git diff --stat ;; git show --name-only HEAD
git rev-list --count HEAD ;; git merge-base a b ;; git for-each-ref ;; git check-ignore a ;; git count-objects -v ;; git name-rev HEAD
git var GIT_EDITOR ;; git notes show ;; git notes list ;; git remote get-url origin ;; git log -L :f:a ;; git diff-tree -r HEAD ;; git fsck
git range-diff a b c ;; git cherry
# git: write
git branch foo ;; git branch -d foo ;; git branch -D foo ;; git branch -m a b ;; git branch -f a b ;; git branch --set-upstream-to=o/a
git branch --unset-upstream ;; git branch -u o/a ;; git branch --edit-description ;; git branch --delet a ;; git branch -Dr o/a ;; git branch -qD a
git tag v1 ;; git tag -d v1 ;; git tag -a v1 -m x ;; git tag -fm x v1 ;; git stash ;; git stash pop ;; git stash push -m x ;; git stash drop
git stash clear ;; git stash -u ;; git stash -- a ;; git remote add o u ;; git remote rm o ;; git remote set-url o u ;; git remote -v rm o
git config user.name x ;; git config --global user.name x ;; git config --unset user.name ;; git config --add a.b c ;; git config set a.b c
git config -e ;; git config --global --edit ;; git config --get-urlmatch a b ;; git config --replace-all a.b c ;; git config --rename-section a b
git config --get a.b --unset ;; git config --file x a.b c ;; git add a ;; git add -A ;; git rm a ;; git mv a b ;; git restore a ;; git reset --hard
git clean -fd ;; git init ;; git apply x ;; git update-ref a b ;; git symbolic-ref HEAD a ;; git commit -m x ;; git merge a ;; git rebase a
git cherry-pick a ;; git revert a ;; git checkout a ;; git checkout -- a ;; git switch -c a ;; git worktree add x ;; git worktree remove x
git worktree -q remove x ;; git reflog expire --all ;; git reflog delete a ;; git gc ;; git prune ;; git repack ;; git pack-refs
git diff --output=x ;; git diff --outp=x ;; git log --output x ;; git log --output=x ;; git show --output=x ;; git format-patch HEAD~1
git bundle create x HEAD ;; git archive -o x HEAD ;; git notes add -m x ;; git notes --ref=x add -m y ;; git notes --ref x remove
git submodule add u ;; git submodule update ;; git submodule --quiet update ;; git submodule init ;; git submodule deinit a
git sparse-checkout set a ;; git update-index --assume-unchanged a ;; git fsck --lost-found ;; git fsck --lost ;; git hash-object -w a
git read-tree a ;; git write-tree ;; git replace a b ;; git rerere forget a ;; git am x ;; git bisect start ;; git merge-tree --write-tree a b
git fast-import ;; git fast-export --export-marks=x a ;; git mktag ;; git maintenance start ;; git range-diff --output=x a b c
git diff-tree --output=x HEAD ;; git symbolic-ref --delete x ;; git checkout-index -a ;; git worktree prune ;; git stash list --output=x
git stash show --output=x ;; git shortlog --output=x ;; git blame --output=x a ;; git show-branch --output=x
# git: network
git fetch ;; git pull ;; git push ;; git clone u ;; git ls-remote ;; git remote update ;; git remote show o ;; git remote prune o
git remote -v update ;; git remote --verbose update ;; git push --force ;; git push origin :a ;; git submodule update --init ;; git fetch --all
git archive --remote=u HEAD ;; git remote add -f o u ;; git remote set-head o -a ;; git ls-remote --heads o ;; git bundle create x
git request-pull a u ;; git fetch-pack u ;; git clone --mirror u
# git: network write
git pull --rebase ;; git fetch --prune ;; git push -f ;; git clone --depth 1 u d
# git: run
git commit ;; git rebase -i a ;; git checkout a ;; git merge a ;; git pull ;; git difftool ;; git bisect run x ;; git submodule foreach x
git diff --ext-diff ;; git log --show-signature ;; git grep -O x ;; git tag -s v ;; git tag -v v ;; git cat-file --textconv a
git cat-file --textc a ;; git cat-file --filters a ;; git cat-file --filt a ;; git help -w a ;; git help --web a ;; git show --ext-diff
git diff --textconv ;; git verify-commit a ;; git verify-tag a ;; git grep --textconv x ;; git grep --open x ;; git grep -Oless x
git branch --edit-description ;; git stash show --ext-diff ;; git add -i ;; git add -e ;; git add -p ;; git notes edit ;; git config --edit
git config -e ;; git gui ;; git instaweb ;; git mergetool
# coreutils: read
ls -la ;; cat a b ;; head -n5 a ;; tail -f a ;; wc -l a ;; cut -d: -f1 a ;; sort a ;; sort -k2 -n a ;; sort -t, a ;; uniq -c ;; tr a b ;; du -sh .
df -h ;; stat a ;; file a ;; date ;; date +%s ;; date -d x ;; whoami ;; id ;; pwd ;; echo a ;; printf %s a ;; basename a ;; readlink -f a ;; md5sum a
sha256sum -c a ;; diff -u a b ;; cmp a b ;; comm a b ;; join a b ;; nl a ;; tac a ;; rev a ;; seq 5 ;; sleep 1 ;; env ;; printenv ;; uname -a ;; nproc
ps aux ;; pgrep x ;; which ls ;; tree -L 2 ;; base64 -d a ;; od -c a ;; xxd a ;; strings a ;; grep -r a . ;; rg a ;; find . -name x
find . -type f -print0 ;; sed -n 1,5p a ;; sed s/a/b/ a ;; jq . a ;; tar -tf a ;; tar tf a ;; tar tvzf a ;; zcat a ;; less a ;; hostname ;; cal
test -f a ;; true ;; lsof ;; uptime ;; free -m ;; column -t a ;; shuf a ;; yes ;; expr 1 + 1 ;; factor 5 ;; numfmt 5 ;; tsort a ;; fold a ;; fmt a
paste a b ;; look a
# coreutils: write
sort -o a b ;; sort -oa b ;; sort --output=a b ;; sort --outpu a b ;; sort -uo a b ;; sort -T d a ;; uniq a b ;; tee a ;; tee -a a ;; dd of=a
dd if=a of=b ;; find . -delete ;; find . -fprint a ;; find . -fls a ;; find . -fprintf a b ;; find . -fprint0 a ;; sed -i s/a/b/ a
sed -i.bak s/a/b/ a ;; sed -ni p a ;; sed --in-place s/a/b/ a ;; sed --in-pl s/a/b/ a ;; sed -n 'w out' a ;; sed 's/a/b/w out' a ;; sed -Ei s/a/b/ a
cp a b ;; mv a b ;; rm a ;; ln -s a b ;; mkdir a ;; rmdir a ;; touch a ;; chmod 1 a ;; chown a b ;; truncate -s0 a ;; mktemp ;; mkfifo a ;; mknod a b
link a b ;; unlink a ;; shred a ;; split a ;; csplit a 1 ;; install a b ;; tar -xf a ;; tar xf a ;; tar xvzf a ;; tar cf a b ;; tar czf a b
tar -czf a b ;; tar --extract -f a ;; tar --get --file=a ;; tar rf a b ;; tar uf a b ;; tar Af a b ;; tar --delete -f a b ;; tar --extr -f a
tar -f a -x ;; gzip a ;; gunzip a ;; zip a b ;; unzip a ;; xz a ;; zstd a ;; bzip2 a ;; patch ;; kill 1 ;; pkill a ;; killall a ;; renice 1 1
base64 -o a b ;; shuf -o a b ;; shuf --outp=a b ;; shuf -oa ;; shuf -n1 -o a b ;; tree -o a ;; tree -oa ;; tree -ao a ;; tree -R ;; file -C -m a
file --compile ;; file --comp ;; file -Cm a ;; date -s x ;; date --set=x ;; date --se=x ;; date 010100002020 ;; hostname a ;; hostname -F a
hostname -b a ;; ptx -G a b ;; xxd a b ;; xxd -r a b ;; less -o a b ;; less -Oa b ;; cat a > b ;; echo a >> b ;; cat a 2> b ;; ls &> b
echo > /dev/sda ;; cat a >| b ;; zstdcat -o a b ;; chattr +i a ;; setfacl -m a b ;; mount a b ;; umount a ;; useradd a ;; passwd a ;; rename a b c
sync ;; fallocate -l 1 a ;; yq -i . a ;; awk '{print > "a"}' b ;; tput reset > a ;; nohup ls ;; flock a ls ;; crontab a ;; chgrp a b ;; cp -r a b
ar r a b ;; column a > b ;; rev a > b ;; script -c ls a ;; lsof -Db ;; patch -o a b ;; 7z x a ;; logger a ;; wall a ;; write a ;; mesg n ;; stty -echo
setterm --reset ;; dmesg -C ;; dmesg -c ;; ulimit -n 5 > a ;; ss -K ;; netstat > a ;; arp -d a ;; arp -s a b ;; ip link set a up ;; hwclock -w
timedatectl set-time x ;; fold a > b ;; diff -u a b > c ;; od a > b
# coreutils: network
getent hosts a ;; getent ahosts a ;; ping a ;; dig a ;; host a ;; nslookup a ;; nc a 1 ;; whois a ;; traceroute a ;; ssh a ls ;; scp a b:c
rsync a b:c ;; cat < /dev/tcp/a/1 ;; echo x > /dev/udp/a/1 ;; tar -tf h:a ;; tar tf h:a ;; awk 'BEGIN{getline x < "/inet/tcp/0/a/80"}'
mount -t nfs a:/b c ;; telnet a ;; ftp a ;; sftp a ;; curl a ;; wget a ;; mtr a ;; nmap a ;; tracepath a ;; who --lookup ;; hostname -f
# coreutils: run
find . -exec x \; ;; find . -ok x \; ;; rg --pre=x a ;; rg --pre x a ;; install --strip-program=x -s a b ;; install --strip-pro=x a b
install -s a b ;; diff3 --diff-program=x a b c ;; diff3 --diff-prog=x a b c ;; bat --pager=x a ;; bat --page=x a ;; ag --pager x a ;; make ;; python a
perl -e a ;; rename 's/a/b/e' c ;; prename 's/a/b/' c ;; nc -e sh a 1 ;; nc -c sh a 1 ;; ncat -c sh a 1 ;; tcpdump -z x ;; mount -t fuse.x a b ;; ./x
bash x ;; sh x ;; xargs ./x ;; split --filter=x a ;; diff -l a b ;; diff --paginate a b ;; sort --compress-program=x a ;; man -P x a ;; less +!x a
awk 'BEGIN{system("x")}' ;; sed '1e x' a ;; tar -I x -xf a ;; tar --to-command=x -xf a ;; nmap -sC a ;; nmap -A a ;; nmap --script x a
nmap --scri=x a ;; git-foo ;; make -n ;; watch -n1 ./x ;; ack --output=x a ;; ar --plugin=x t a ;; patch --ed
# docker: read
docker ps ;; docker ps -a ;; docker images ;; docker inspect a ;; docker logs a ;; docker logs -f --tail 5 a ;; docker version ;; docker info
docker top a ;; docker port a ;; docker diff a ;; docker stats --no-stream ;; docker history a ;; docker volume ls ;; docker network ls
docker network inspect a ;; docker container ls -a ;; docker image ls ;; docker image inspect a ;; docker compose ps ;; docker compose logs -f
docker compose config ;; docker compose -f a ps ;; docker compose --profile a ps ;; docker compose version ;; docker context ls ;; docker system df
docker events ;; docker container logs a ;; podman ps
# docker: write
docker rm a ;; docker rmi a ;; docker rm -f a ;; docker stop a ;; docker start a ;; docker restart a ;; docker kill a ;; docker pause a
docker rename a b ;; docker tag a b ;; docker cp a:b c ;; docker cp c a:b ;; docker update a ;; docker commit a ;; docker save -o a b ;; docker save a
docker export a ;; docker export -o a b ;; docker import a ;; docker load ;; docker load -i a ;; docker volume create a ;; docker volume rm a
docker volume prune ;; docker network create a ;; docker network rm a ;; docker network connect a b ;; docker system prune ;; docker system prune -af
docker image prune ;; docker container prune ;; docker builder prune ;; docker buildx prune ;; docker swarm init ;; docker service create a
docker service rm a ;; docker stack deploy a ;; docker secret create a b ;; docker config rm a ;; docker node rm a ;; docker plugin install a
docker context use a ;; docker context create a ;; docker context rm a ;; docker compose up ;; docker compose up -d ;; docker compose down
docker compose down -v ;; docker compose stop ;; docker compose rm ;; docker compose restart ;; docker compose build ;; docker compose pull
docker compose exec a b ;; docker compose run a b ;; docker compose cp a b ;; docker compose create ;; docker compose config -o a
docker compose config --output=a ;; docker compose config --lock-image-digests ;; docker compose kill ;; docker compose watch
docker compose -f a down ;; docker --context a rm b ;; docker -H a rm b ;; docker -Ha rm b ;; docker --log-level debug rm a ;; docker container rm a
docker image rm a ;; docker login ;; docker logout ;; docker push a ;; docker pull a ;; docker build . ;; docker run a ;; docker run --rm a b
docker exec a b ;; docker attach a ;; docker trust sign a ;; docker manifest create a ;; docker checkpoint create a b ;; docker image build .
docker image save a ;; docker image load ;; docker image import a ;; docker volume update a ;; docker wait a > b ;; docker-compose up
docker-compose down ;; podman rm a ;; podman pod rm a ;; podman system reset ;; docker compose alpha viz ;; docker init ;; docker scout cves a
docker sbom a ;; docker compose ls > a ;; docker compose images --output=a
# docker: network
docker pull a ;; docker push a ;; docker login ;; docker search a ;; docker build . ;; docker run a ;; docker compose pull ;; docker compose up
docker -H tcp://a ps ;; docker --host=tcp://a ps ;; docker --host tcp://a images ;; docker --context a ps ;; docker -c a ps ;; docker import http://a
docker image pull a ;; docker buildx build . ;; docker manifest inspect a ;; docker plugin install a ;; docker service create a
docker stack deploy a
# docker: run
docker run a ;; docker exec a b ;; docker start a ;; docker restart a ;; docker container start a ;; docker container restart a ;; docker compose up
docker compose start ;; docker compose restart ;; docker compose run a b ;; docker compose exec a b ;; docker build . ;; docker attach a
docker create a ;; docker unpause a ;; docker compose unpause ;; docker compose watch ;; docker service create a ;; docker --config=d ps ;; docker foo
podman start a ;; nerdctl run a
# kubectl: network
kubectl get pods ;; kubectl get pods -A -o wide ;; kubectl get -f a ;; kubectl describe pod a ;; kubectl logs a ;; kubectl logs -f a -c b
kubectl top pods ;; kubectl explain pod ;; kubectl api-resources ;; kubectl version ;; kubectl cluster-info ;; kubectl events ;; kubectl diff -f a
kubectl auth can-i get pods ;; kubectl rollout status d/a ;; kubectl rollout history d/a ;; kubectl wait --for=condition=ready p/a
kubectl -n a get pods ;; kubectl get pods -w ;; kubectl get secret a -o yaml
# kubectl: read
kubectl config view ;; kubectl config current-context ;; kubectl config get-contexts
# kubectl: write
kubectl apply -f a ;; kubectl create -f a ;; kubectl delete pod a ;; kubectl -n a delete pod b ;; kubectl --namespace a delete pod b
kubectl replace -f a ;; kubectl patch a ;; kubectl scale d/a ;; kubectl autoscale d/a ;; kubectl label p a=b ;; kubectl annotate p a=b
kubectl taint n a ;; kubectl cordon a ;; kubectl uncordon a ;; kubectl drain a ;; kubectl expose d/a ;; kubectl rollout restart d/a
kubectl rollout undo d/a ;; kubectl set image d/a b=c ;; kubectl set env d/a b=c ;; kubectl set serviceaccount d/a b ;; kubectl run a --image=b
kubectl exec a -- b ;; kubectl debug a ;; kubectl attach a ;; kubectl edit p a ;; kubectl cp a:b c ;; kubectl cp a b:c ;; kubectl port-forward a 1
kubectl proxy ;; kubectl config use-context a ;; kubectl config set-context a ;; kubectl config delete-cluster a ;; kubectl config rename-context a b
kubectl config delete-user a ;; kubectl auth reconcile -f a ;; kubectl certificate approve a ;; kubectl cluster-info dump --output-directory=a
kubectl cluster-info dump --output-directory a ;; kubectl plugin list ;; kubectl foo ;; kubectl get pods > a ;; kubectl config view > a
kubectl -v 9 delete p a ;; kubectl -v=9 delete p a ;; kubectl apply edit-last-applied p a ;; kubectl set-last-applied ;; kubectl create token a
kubectl events --foo ;; kubectl get pods --log-file=a ;; kubectl get --profile=cpu --profile-output=a pods ;; kubectl --profile-output=a get pods
kubectl delete --all pods ;; kubectl krew install a ;; kubectl alpha debug
# kubectl: run
kubectl exec a -- b ;; kubectl run a --image=b ;; kubectl debug a ;; kubectl attach a ;; kubectl edit a ;; kubectl plugin
kubectl --kubeconfig=a get pods ;; kubectl --kubeconfig a get pods ;; kubectl get pods --kubeconfig=a ;; kubectl get pods --kubeconfig a
kubectl config view --kubeconfig=a ;; kubectl kustomize a ;; kubectl get -k a ;; kubectl diff -k a ;; kubectl foo
# npm: read
npm ls ;; npm list --depth=0 ;; npm ls -g ;; npm root ;; npm prefix ;; npm -v ;; npm --version ;; npm explain a ;; npm why a ;; pnpm list ;; yarn list
npm query .a ;; npm config get registry ;; npm config list
# npm: network
npm view a ;; npm info a version ;; npm search a ;; npm outdated ;; npm ping ;; npm whoami ;; npm audit ;; npm audit --json ;; npm fund ;; npm doctor
pnpm outdated ;; yarn info a ;; npm install ;; npm ci ;; npm i a ;; npm update ;; npm publish ;; npx a ;; pnpm i ;; yarn ;; yarn install ;; yarn add a
npm access list ;; npm team ls a ;; npm owner ls a ;; npm profile get ;; npm star a ;; npm hook ls
# npm: write
npm install ;; npm i a ;; npm ci ;; npm uninstall a ;; npm rm a ;; npm update ;; npm audit fix ;; npm audit --json fix
npm audit --audit-level=high fix ;; npm audit --audit-level high fix ;; npm audit fix --force ;; npm config set a b ;; npm config delete a
npm config edit ;; npm set a b ;; npm cache clean ;; npm cache clean --force ;; npm link ;; npm dedupe ;; npm prune ;; npm rebuild
npm version patch ;; npm pack ;; npm publish ;; npm init -y ;; npm create a ;; npm pkg set a=b ;; npm pkg delete a ;; npm pkg fix ;; npm shrinkwrap
npm run a ;; npm test ;; npm start ;; npm exec a ;; npx a ;; npm dist-tag add a b ;; npm deprecate a b ;; npm unpublish a ;; npm owner add a b
npm access grant a b ;; npm token create ;; npm login ;; npm logout ;; npm adduser ;; npm star a ;; npm hook add a ;; npm team create a
npm profile set a b ;; npm edit a ;; npm explore a ;; npm docs a ;; npm repo a ;; npm bugs a ;; npm diff ;; npm install-test ;; npm it
npm install-ci-test ;; npm cit ;; npm in a ;; npm add a ;; npm isntall a ;; npm restart ;; npm stop ;; npm se ;; npm -g install a
npm --prefix d install ;; npm -C d install ;; npm --silent run a ;; npm r a ;; npm un a ;; npm unlink a ;; npm upgrade ;; npm udpate
npm clean-install ;; npm ic ;; npm rum a ;; npm urn a ;; npm tst ;; npm t ;; npm ddp ;; npm find-dupes ;; npm sbom ;; npm undeprecate a ;; pnpm add a
pnpm rm a ;; pnpm remove a ;; pnpm update ;; pnpm store prune ;; pnpm dedupe ;; pnpm patch a ;; pnpm run a ;; pnpm a ;; pnpm dlx a ;; pnpm exec a
pnpm import ;; pnpm publish ;; pnpm audit --fix ;; pnpm outdated --foo ;; pnpm -r update ;; pnpm --filter a add b ;; yarn ;; yarn add a
yarn remove a ;; yarn upgrade ;; yarn up a ;; yarn set version a ;; yarn config set a b ;; yarn cache clean ;; yarn link ;; yarn a ;; yarn run a
yarn dlx a ;; yarn exec a ;; yarn node a ;; yarn global add a ;; yarn workspaces foreach run a ;; yarn workspace a add b ;; yarn publish
yarn version ;; yarn pack ;; yarn import ;; yarn autoclean ;; yarn patch a ;; yarn plugin import a ;; yarn rebuild ;; yarn npm publish
yarn audit > a ;; yarn constraints --fix ;; bun install ;; bun add a ;; deno run a
# npm: run
npm install ;; npm run a ;; npm test ;; npm ci ;; npm exec a ;; npx a ;; npm rebuild ;; npm start ;; yarn ;; yarn a ;; pnpm a ;; pnpm run a
npm --node-options=a ls ;; npm ls --node-options=a ;; npm view a --script-shell=b ;; npm explore a -- b ;; npm edit a ;; npm help a --viewer=b
npm config edit ;; npm fund a ;; npm fund --browser=a b ;; npm docs a ;; npm publish ;; npm pack ;; npm version a ;; npm diff --git=a ;; bun run a
deno run a ;; bunx a ;; npm restart ;; npm audit fix
# pip: read
pip list ;; pip show a ;; pip freeze ;; pip check ;; pip --version ;; pip debug ;; pip inspect ;; pip3 list ;; pip help ;; pip config list
pip cache list
# pip: network
pip list --outdated ;; pip list -o ;; pip list --outd ;; pip list --uptodate ;; pip list -u ;; pip index versions a ;; pip search a ;; pip install a
pip download a ;; pip wheel a ;; pip3 install a ;; pip --proxy a list ;; pip install -r a ;; pip install --dry-run a
# pip: write
pip install a ;; pip install -e . ;; pip install -r a ;; pip install --target=d a ;; pip uninstall a ;; pip uninstall -y a ;; pip download a
pip download -d d a ;; pip wheel a ;; pip cache purge ;; pip cache remove a ;; pip config set a b ;; pip config unset a ;; pip config edit ;; pip lock
pip --log a list ;; pip --log=a list ;; pip list --log a ;; pip list --log=a ;; pip list --lo=a ;; pip show --log=a b ;; pip freeze --log a
pip freeze > a ;; pip -q install a ;; pip -v install a ;; pip --isolated install a ;; pip install --upgrade pip ;; pip install --user a
pip install --report=a b ;; pip inst a ;; pip hash a > b ;; pip completion ;; pip cache ;; pip install --root=d a ;; pip check --log=a
pip debug --log=a ;; pip inspect --log=a ;; pip list --cache-dir=a ;; pip index versions a --log=b ;; pip3 uninstall a ;; pip3 cache purge
# pip: run
pip install a ;; pip download a ;; pip wheel a ;; pip install -e . ;; pip --python=a list ;; pip --python a list ;; pip list --python=a
pip config edit ;; pip config --editor=a edit ;; pip list --editor=a ;; pip uninstall a ;; pip install git+https://a ;; pip lock
# cargo: read
cargo --version ;; cargo --list ;; cargo -V ;; cargo version
# cargo: network
cargo tree ;; cargo metadata ;; cargo search a ;; cargo info a ;; cargo build ;; cargo fetch ;; cargo update ;; cargo install a ;; cargo add a
cargo publish ;; rustup update ;; cargo test ;; cargo check
# cargo: write
cargo tree ;; cargo metadata ;; cargo build ;; cargo b ;; cargo check ;; cargo c ;; cargo test ;; cargo t ;; cargo run ;; cargo r ;; cargo bench
cargo clippy ;; cargo clippy --fix ;; cargo doc ;; cargo doc --open ;; cargo fmt ;; cargo clean ;; cargo new a ;; cargo init ;; cargo add a
cargo remove a ;; cargo rm a ;; cargo update ;; cargo fetch ;; cargo vendor ;; cargo generate-lockfile ;; cargo login ;; cargo logout
cargo owner --add a ;; cargo yank a ;; cargo publish ;; cargo package ;; cargo install a ;; cargo uninstall a ;; cargo fix ;; cargo rustc
cargo rustdoc ;; cargo foo ;; cargo +nightly build ;; cargo --offline build ;; cargo -q build ;; cargo --color always build ;; cargo -C d build
cargo -Z a build ;; cargo --config a build ;; cargo nextest run ;; cargo miri test ;; cargo report future-incompatibilities ;; cargo tree --config a
cargo metadata --config a ;; cargo audit ;; cargo audit fix ;; cargo deny check ;; cargo outdated ;; cargo upgrade ;; cargo set-version a
cargo machete --fix ;; cargo sort ;; cargo expand ;; cargo watch -x a ;; cargo make a ;; cargo xtask a ;; cargo script a ;; cargo config get
cargo help build > a ;; rustup update ;; rustup install a ;; rustup default a ;; rustup target add a ;; rustup component add a
rustup toolchain install a ;; rustup override set a ;; rustup self update ;; rustup run a b ;; rustup set profile a ;; rustup completions a > b
rustup toolchain uninstall a ;; rustup toolchain link a b ;; rustup show
# cargo: run
cargo build ;; cargo test ;; cargo run ;; cargo check ;; cargo clippy ;; cargo install a ;; cargo fmt ;; cargo new a ;; cargo foo ;; cargo doc --open
cargo bench ;; cargo fix ;; cargo tree --config a ;; cargo metadata --config=a ;; cargo --config a metadata ;; cargo +a metadata ;; rustup run a b
rustup doc ;; rustup update ;; cargo watch -x a
# curl: network
curl https://a ;; curl -s https://a ;; curl -sSL https://a ;; curl -I https://a ;; curl -H 'A: b' https://a ;; curl -u a:b https://a
curl --max-time 5 https://a ;; curl -k https://a ;; curl -v https://a ;; curl --compressed https://a ;; curl -x p https://a ;; curl -b a https://b
curl -L --retry 3 https://a ;; curl -fsS https://a ;; curl --unix-socket a http://b ;; curl -G https://a ;; curl -e a https://b
# curl: write
curl -o a b ;; curl -oa b ;; curl -O b ;; curl -sO b ;; curl -fsSLo a b ;; curl -LO b ;; curl --output a b ;; curl --output=a b ;; curl --outpu a b
curl -OJ b ;; curl --remote-name b ;; curl --remote-na b ;; curl --remote-name-all b ;; curl -c a b ;; curl --cookie-jar a b ;; curl -D a b
curl --dump-header a b ;; curl -sD- b ;; curl --trace a b ;; curl --trace-ascii a b ;; curl --stderr a b ;; curl --libcurl a b ;; curl --hsts a b
curl --etag-save a b ;; curl --alt-svc a b ;; curl --ssl-sessions a b ;; curl --output-dir a -O b ;; curl --create-dirs -o a b ;; curl -X POST b
curl -XPOST b ;; curl -XDELETE b ;; curl -sX PUT b ;; curl --request POST b ;; curl --request=POST b ;; curl --reques POST b ;; curl -d a b
curl -da b ;; curl --data a b ;; curl --data-raw a b ;; curl --data-binary @a b ;; curl --data-urlencode a b ;; curl --data-ascii a b
curl --json a b ;; curl -F a=b c ;; curl --form a=b c ;; curl --form-string a=b c ;; curl -T a b ;; curl --upload-file a b ;; curl -Q a b
curl --quote a b ;; curl -t a b ;; curl --telnet-option a b ;; curl -K a ;; curl --config a ;; curl -a -T a b ;; curl --mail-from a --mail-rcpt b c
curl -w '%output{a}' b ;; curl --write-out '%output{a}x' b ;; curl -: -X POST b ;; curl --next -d a b ;; curl a -d b ;; curl a --data=b ;; curl a > b
curl a | tee b ;; curl --xattr -o a b ;; curl --create-file-mode 600 -o a b ;; curl --ftp-create-dirs a ;; curl --post301 -d a b
curl --trace-time --trace a b ;; curl --out-null a ;; curl --skip-existing -O a ;; curl --variable a b ;; curl --expand-output a b
curl --ftp-method a b ;; curl -sSfLo/x a ;; curl -#o a b ;; curl -o- a > b ;; curl -JLO a ;; curl --remove-on-error -o a b ;; curl --dump-ca-embed
curl --engine a b ;; curl --krb a b ;; curl -P - ftp://b -T a
# wget: network
wget a ;; wget -qO- a ;; wget --spider a ;; wget -i a
# wget: write
wget a ;; wget -O a b ;; wget -P d a ;; wget -r a ;; wget --post-data=a b ;; wget --method=DELETE a ;; wget --post-file=a b ;; wget -o log a
wget -a log b ;; wget --body-file=a b ;; wget -e a b ;; wget --save-cookies=a b ;; wget --warc-file=a b ;; wget -x a ;; wget -N a ;; wget --config=a b
wget -b a ;; wget --delete-after a ;; wget --hsts-file=a b ;; wget -c a ;; wget --rejected-log=a b ;; wget --output-file=a b ;; wget -nc a
wget -qi a ;; wget --content-disposition a ;; wget -E a ;; wget -m a
# wget: run
wget --use-askpass=a b ;; wget --use-ask=a b ;; wget -e use_askpass=a b ;; wget --execute=a b ;; wget --exec=a b ;; wget --config=a b
"""


def effect_lines() -> list[tuple[str, frozenset[str]]]:
    """The command lines with their least effects."""
    found, effects = [], frozenset[str]()
    for line in _LINES.strip().splitlines():
        if line.startswith("# "):
            effects = frozenset(line.rpartition(": ")[2].split())
        else:
            found += [(text.strip(), effects) for text in line.split(";;")]
    return found
