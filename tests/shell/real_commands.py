"""Command lines as coding agents and developers run them, written for this test.

Templates of builds, tests, searches, edits, version control, containers, networks and administration, each with several
names in place of `@`. About one line in ten uses a variable, one in a hundred a substitution or a loop.
"""

from __future__ import annotations

_TEMPLATES = r"""
ls -la @
ls -R @ | head -50
cat @.py
cat @.py | head -n 40
head -100 @.log
tail -n 50 @.log
tail -f @.log
wc -l @/*.py
find . -name "@*.py"
find @ -type f -name '*.ts' -not -path '*/node_modules/*'
find . -type d -name @ -maxdepth 3
find . -name '@*.pyc' -delete
find @ -name '*.py' -exec grep -l "import os" {} \;
find @ -name '*.py' | xargs grep -n "TODO"
find @ -type f -print0 | xargs -0 wc -l
grep -rn "@" src/
grep -rn --include='*.py' "def @" .
grep -n "class @" src/models.py | head
grep -E "error|warning" @.log
rg -n "@" src --type py
rg "fn @" -g '*.rs'
rg -l @ | head -20
sed -n '1,80p' @.py
sed -n '100,160p' src/@.py
sed -i 's/@/other/g' README.md
awk '{print $1}' @.txt | sort | uniq -c | sort -rn | head
awk -F, '{sum += $3} END {print sum}' @.csv
cut -d: -f1 @.txt
sort -u @.txt > sorted.txt
diff -u @.py @.bak
cp -r @ @.bak
mv @.txt docs/
rm -f @.log
rm -rf build/@ dist
mkdir -p src/@/tests
touch src/@/__init__.py
chmod +x scripts/@.sh
ln -s ../@ link
du -sh @
tar czf @.tar.gz @
tar -xzf @.tar.gz -C /tmp
unzip -o @.zip -d out
stat @.py
file @.bin
tree -L 2 @
cd @ && ls
cd @ && make
cd @ && npm install && npm run build
cd /workspace/@ && git status
pwd && ls @
echo "@" > out.txt
echo "done: @" >> notes.md
printf '%s\n' @ other
which @
cat > @.txt <<'EOF'\nline one\nline $two\nEOF
cat <<'EOF' > @.py\nimport os\nprint("hi")\nEOF
git status
git status --short @
git diff @
git diff --stat HEAD~1 -- @
git diff main...@ --name-only
git log --oneline -n 10 -- @
git log --oneline --graph --all | head -20
git show HEAD:@.py
git add @ && git commit -m "Update @"
git add -A && git commit -m 'fix: handle @ in parser'
git commit -am "Add @"
git checkout -b feature/@
git switch @
git branch -a | grep @
git push origin @
git push -u origin feature/@
git pull --rebase origin @
git fetch --all --prune
git merge @
git rebase main
git stash && git checkout @
git stash pop
git reset --hard HEAD
git restore @.py
git clone https://github.com/org/@.git
git clone --depth 1 https://github.com/org/@ /tmp/@
git blame -L 10,20 @.py
git rev-parse --abbrev-ref HEAD
git remote -v
git tag -a v1.0-@ -m "release"
git cherry-pick @
git ls-files | grep @
git -C @ log -1 --format=%H
git worktree add ../@ main
python @.py
python3 -m pytest tests/test_@.py -x -q
python3 -m pytest -k "@ and not slow" 2>&1 | tail -20
python -c "import @; print(@.__version__)"
python3 -c 'import json; print(json.load(open("@.json")))'
python -m venv .venv && .venv/bin/pip install -e .
.venv/bin/python -m @
source_dir=@ make test
pytest tests/@ -v
pytest -q --maxfail=1 tests/test_@.py::test_one
PYTHONPATH=src pytest tests/@
pip install @
pip install -r requirements-@.txt
pip show @ | grep Version
pip list --outdated
uv run pytest tests/@
uv pip install @
poetry run python @.py
ruff check @ --fix
ruff format @
mypy src/@
black --check @
npm install @
npm install --save-dev @
npm run @
npm test -- --watchAll=false @
npx tsc --noEmit
npx eslint src/@ --ext .ts
npx prettier --write "src/@/*.ts"
yarn add @
pnpm run @
node @.js
node -e "console.log(require('./@.json').version)"
NODE_ENV=production node server.js @
cargo build --release -p @
cargo test -p @ -- --nocapture
cargo test @ 2>&1 | tail -30
cargo clippy --all-targets -- -D warnings
cargo run --bin @ -- --help
cargo fmt --all && cargo check -p @
RUST_BACKTRACE=1 cargo test @
RUST_LOG=debug cargo run -p @
go test ./@/... -run TestOne -v
go build -o bin/@ ./cmd/@
go mod tidy && go vet ./@/...
make @
make -j4 @ 2>&1 | tail -n 20
make clean && make @
cmake -B build -DCMAKE_BUILD_TYPE=Release && cmake --build build --target @
gcc -O2 -o @ @.c -lm && ./@
javac @.java
mvn -q -pl @ test
./gradlew :@:test --info
./scripts/@.sh
bash scripts/@.sh --dry-run
sh ./@.sh
docker ps -a --filter name=@
docker build -t @:latest .
docker run --rm -it -v data:/data -p 8080:80 @:latest
docker run -d --name @ -e KEY=value redis:7
docker exec -it @ bash -c 'ls /app'
docker exec @ psql -U app -c "select 1"
docker logs --tail 100 @
docker compose up -d @
docker compose logs -f @
docker compose exec @ python manage.py migrate
docker stop @ && docker rm @
docker images | grep @
kubectl get pods -n @
kubectl describe pod @
kubectl logs -f deploy/@ --tail=100
kubectl apply -f k8s/@.yaml
kubectl rollout restart deployment/@
kubectl exec -it @ -- ls /
helm upgrade --install @ ./chart
terraform plan -out=@.plan
curl -s https://api.example.com/@
curl -sSL https://example.com/@.tar.gz -o /tmp/@.tar.gz
curl -X POST -H 'Content-Type: application/json' -d '{"name": "@"}' http://localhost:8000/api
curl -s http://localhost:8000/@ | jq '.items[] | .name'
curl -I https://example.com/@
wget -q https://example.com/@.zip
jq '.@' package.json
jq -r '.scripts | keys[]' @.json
ssh user@example.com 'tail -n 20 /var/log/@.log'
scp @.txt host:/tmp/
rsync -avz --delete @/ host:/srv/@/
ps aux | grep @
kill -9 12345
pkill -f @
lsof -i :8080
df -h && free -m
sleep 5 && curl -sf http://localhost:3000/@
timeout 60 pytest tests/@
timeout 10s node @.js || true
nohup python @.py > @.log 2>&1 &
time make @
env | sort | grep -i @
export API_URL=http://localhost/@
sudo apt-get install -y @
apt-get update && apt-get install -y @
sudo systemctl restart @
brew install @
gh pr create --title "Add @" --body "See issue"
gh pr view 12 --json title,body
gh issue list --label @
psql -h localhost -U app -d @ -c 'select count(*) from users'
sqlite3 @.db '.tables'
redis-cli get @
openssl rand -hex 32
base64 -d @.b64 > @.bin
xxd @.bin | head
date +%Y-%m-%d
test -f @.txt && echo yes || echo no
[ -d @ ] && rm -r @
set -e; make @; make install
(cd @ && npm ci) && npm test
ls @ 2>/dev/null || mkdir @
command -v @ >/dev/null 2>&1 && echo found
cat @.json | python3 -m json.tool | head -40
git diff HEAD -- @ | grep '^+' | wc -l
tee @.log < input.txt
comm -12 a.txt @.txt
sha256sum @.tar.gz
strings @.bin | grep -i version
ruby -e 'puts 1' @
php artisan migrate --path=@
bundle exec rspec spec/@_spec.rb
dotnet test @.sln
pre-commit run --all-files
git log --since="2 weeks ago" --author=@ --pretty=format:'%h %s'
find . -path ./node_modules -prune -o -name '@*' -print
mkdir -p @/{src,tests} && touch @/src/main.py
cp config.@.{json,yaml} backup/
ls *.@ | wc -l
xargs -n1 echo < @.txt
stty -a
echo "$HOME/@"
echo "exit code: $?"
ls -la "$HOME/.@"
cd "$WORKSPACE/@" && ls
cd $PROJECT_DIR && git log --oneline -5
rm -rf "$BUILD_DIR"/@
mkdir -p "$OUT" && cp @.txt "$OUT/"
cat "$CONFIG" | grep @
python3 "$SCRIPT" --input "@.csv"
python -m @ --token "$API_TOKEN"
curl -s -H "Authorization: Bearer $TOKEN" https://api.example.com/@
curl -sf "$BASE_URL/@" -o @.json
[ -f "$HOME/.@rc" ] && cat "$HOME/.@rc"
test -n "$CI" && echo @
[ "$1" = "@" ] || exit 1
printf '%s\n' "$PATH"
git commit -m "$MESSAGE"
docker run --rm -v "$PWD":/app -w /app node:20 npm run @
docker build -t "@:$TAG" .
kubectl get pods -n "$NAMESPACE"
npm run @ -- --port "$PORT"
grep -rn "$PATTERN" src/@
find . -name "$NAME" -type f
tar czf "@-$VERSION.tar.gz" dist
kill "$PID"
pytest "$TEST_FILE" -k @
make -C "$DIR" @
cat > @.sh <<EOF\necho $USER\nEOF
echo "$LINE" >> "$LOG_FILE"
export API_KEY="$KEY"
DEBUG=$LEVEL node @.js
sed -i 's/@/x/' "$FILE"
awk -v n="$N" 'NR == n' @.txt
psql "$DATABASE_URL" -c 'select 1'
ssh -p "$PORT" host ls @
scp "$FILE" host:/tmp/@
"""
_EXPANDING = r"""
for f in *.@; do echo "$f"; done
git push origin "$(git branch --show-current)"
export PATH="$PATH:/opt/@/bin"
git commit -m "$(cat @.txt)"
docker rm $(docker ps -aq --filter name=@)
"""
NAMES = ("app", "server", "utils", "parser", "config", "main")


def real_commands() -> list[str]:
    """The command lines, each once."""
    usual = [line.replace("\\n", "\n") if "EOF" in line else line for line in _TEMPLATES.strip("\n").split("\n")]
    named = [line.replace("user@example", "user\0example") for line in usual]
    lines = [line.replace("@", name).replace("\0", "@") for name in NAMES for line in named]
    expanding = [line.replace("@", name) for name in NAMES for line in _EXPANDING.strip("\n").split("\n")]
    return list(dict.fromkeys(lines + expanding))
