"""The Lua scripts of a Redis store. Redis runs each of them atomically, and its clock is the store's.

`run:ID` is a hash with the status of a run; `store` is a hash with the epoch and the first fence of new runs.
`records:ID` is a hash of its records by position, each after the token of the call that wrote it: a call repeated after
a broken connection finds its own. `seqs:ID` is the index of the positions, `runs` that of the runs by their last
change, `status:STATUS` that of those with a status. `documents:KIND` is a hash by key, each value after version, time
and token; `keys:KIND` is the index of the keys. Numbers stay below 2**53, where Lua's are exact.
"""

from __future__ import annotations

from bobcat.stores.redis.counts_script import COUNTS
from bobcat.stores.redis.lua import NOW, RUN
from bobcat.stores.redis.queue_scripts import QUEUE_SCRIPTS

TOKEN = 32
"""Number of hex digits of a token."""

_LAST = """
local function last_position(seqs)
    local last = tonumber(redis.call('HGET', run, 'last') or '-1')
    if last < 0 then
        local highest = redis.call('ZREVRANGE', seqs, 0, 0)
        if highest[1] then last = tonumber(highest[1]) end
    end
    return last
end
local function count(records, added)
    if redis.call('HEXISTS', run, 'records') == 1 then
        redis.call('HINCRBY', run, 'records', added)
    else
        redis.call('HSET', run, 'records', text(redis.call('HLEN', records)))
    end
end
"""

_ACQUIRE = """
local state = redis.call('HMGET', run, 'owner', 'expires', 'fence')
if state[1] and state[1] ~= ARGV[2] and tonumber(state[2]) > now then return {state[1], state[2]} end
local known = state[3] or redis.call('HGET', store, 'fence') or '0'
local fence, expires = text(tonumber(known) + 1), text(now + ARGV[3])
change('fence', fence, 'owner', ARGV[2], 'expires', expires)
"""

SCRIPTS = {
    # run, runs, store, records, seqs: id, seq, token, line, fence, owner, head
    "append": RUN
    + _LAST
    + """
local last = last_position(KEYS[5])
local seq = tonumber(ARGV[2])
if ARGV[5] ~= '' then
    if not held(ARGV[5], ARGV[6]) then return 'lost' end
    if seq > last + 1 then return 'gap ' .. text(last) end
elseif redis.call('EXISTS', run) == 0 then
    change('status', 'running')
end
if redis.call('HSETNX', KEYS[4], ARGV[2], ARGV[3] .. ARGV[4]) == 0 then
    local token = string.sub(redis.call('HGET', KEYS[4], ARGV[2]), 1, string.len(ARGV[3]))
    if token ~= ARGV[3] then return 'taken' end
    return 'kept'
end
redis.call('ZADD', KEYS[5], ARGV[2], ARGV[2])
count(KEYS[4], 1)
if seq > last then redis.call('HSET', run, 'last', text(seq), 'head', ARGV[7]) end
return 'kept'
""",
    # run, runs, store, records, seqs: id, fence, owner, head, status or "", detail, token, then position and line of
    # each record, the last of which has the head
    "append_group": RUN
    + _LAST
    + """
local written = #ARGV >= 9 and redis.call('HGET', KEYS[4], ARGV[#ARGV - 1])
if written and string.sub(written, 1, string.len(ARGV[7])) == ARGV[7] then return 'kept' end
if not held(ARGV[2], ARGV[3]) then
    local state = redis.call('HMGET', run, 'status', 'detail', 'owner')
    if #ARGV < 9 and mine(ARGV[2], false) and state[1] == ARGV[5] and state[2] == ARGV[6] then return 'kept' end
    return 'lost'
end
local last = last_position(KEYS[5])
for at = 8, #ARGV, 2 do
    local seq = tonumber(ARGV[at])
    if redis.call('HEXISTS', KEYS[4], ARGV[at]) == 1 or seq <= last then return 'taken ' .. ARGV[at] end
    if seq > last + 1 then return 'gap ' .. ARGV[at] .. ' ' .. text(last) end
    last = seq
end
for at = 8, #ARGV, 2 do
    redis.call('HSET', KEYS[4], ARGV[at], ARGV[7] .. ARGV[at + 1])
    redis.call('ZADD', KEYS[5], ARGV[at], ARGV[at])
end
if #ARGV >= 9 then
    count(KEYS[4], (#ARGV - 7) / 2)
    redis.call('HSET', run, 'last', text(last), 'head', ARGV[4])
end
if ARGV[5] ~= '' then
    redis.call('HDEL', run, 'owner')
    set_status(ARGV[5], 'detail', ARGV[6], 'expires', '0')
end
return 'kept'
""",
    # run, runs, store: id. After the fields of a run were written by other commands.
    "place": RUN
    + """
place()
return 1
""",
    # prefix
    "counts": COUNTS,
    # run, runs, store: id, owner, microseconds
    "acquire": RUN
    + _ACQUIRE
    + """
return {ARGV[2], expires, fence}
""",
    # run, runs, store, records: id, owner, microseconds
    "begin": RUN
    + _ACQUIRE
    + """
return {ARGV[2], expires, fence, redis.call('HLEN', KEYS[4]), redis.call('HMGET', run, 'status', 'fence', 'created',
    'updated', 'detail', 'records', 'head', 'owner', 'expires', 'epoch', 'kind', 'run_at', 'tenant', 'priority',
    'attempts', 'version'), redis.call('HGET', store, 'epoch') or '1', text(now)}
""",
    # run, runs, store: id, fence, owner, microseconds
    "renew": RUN
    + """
if not mine(ARGV[2], ARGV[3]) then return false end
local expires = text(now + ARGV[4])
change('expires', expires)
return expires
""",
    # run, runs, store: id, fence, owner
    "release": RUN
    + """
if not mine(ARGV[2], ARGV[3]) then return false end
redis.call('HDEL', run, 'owner')
change('expires', '0')
if redis.call('HGET', run, 'status') == 'queued' then announce() end
return 'released'
""",
    # run, runs, store: id, status, detail, fence, owner, expected statuses between commas or ""
    "set_status": RUN
    + """
if ARGV[4] ~= '' and not held(ARGV[4], ARGV[5]) then return false end
if ARGV[6] ~= '' then
    local was = redis.call('HMGET', run, 'status', 'detail')
    if was[1] and not string.find(ARGV[6], ',' .. was[1] .. ',', 1, true) then
        if was[1] == ARGV[2] and was[2] == ARGV[3] then return 'set' end
        return 'not ' .. was[1]
    end
end
set_status(ARGV[2], 'detail', ARGV[3])
if ARGV[2] == 'queued' then announce() end
return 'set'
""",
    # run, runs, store, records, seqs: id, fence or ""
    "erase": RUN
    + """
local state = redis.call('HMGET', run, 'owner', 'expires', 'fence')
if not state[3] then return 0 end
if state[1] and tonumber(state[2]) > now then return {state[1], state[2]} end
if ARGV[2] ~= '' and ARGV[2] ~= state[3] then return 0 end
local first = tonumber(redis.call('HGET', store, 'fence') or '0')
if tonumber(state[3]) >= first then redis.call('HSET', store, 'fence', text(tonumber(state[3]) + 1)) end
unplace()
redis.call('DEL', run, KEYS[4], KEYS[5])
redis.call('ZREM', runs, id)
return 1
""",
    # documents, keys: key, version, microseconds
    "discard": """
local was = redis.call('HGET', KEYS[1], ARGV[1])
if not was then return 0 end
local version, updated = string.match(was, '^(%d+) (%d+) ')
if version ~= ARGV[2] or updated ~= ARGV[3] then return false end
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('ZREM', KEYS[2], ARGV[1])
return 1
""",
    # run, runs, store: id
    "mark_uncertain": RUN
    + """
change('epoch', '0')
return 'set'
""",
    # runs, store, running: run key prefix, how far fences grow
    "mark_restored": NOW
    + """
local epoch = tonumber(redis.call('HGET', KEYS[2], 'epoch') or '1') + 1
redis.call('HSET', KEYS[2], 'epoch', text(epoch), 'restored', text(now))
for _, id in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
    local run = ARGV[1] .. id
    redis.call('HINCRBY', run, 'fence', ARGV[2])
    redis.call('HDEL', run, 'owner')
    redis.call('ZADD', KEYS[3], 'XX', text(now), id)
end
return text(epoch)
""",
    # documents, keys: key, expected, token, body
    "put": NOW
    + """
local was, version, updated, token = redis.call('HGET', KEYS[1], ARGV[1]), 0
if was then
    version, updated, token = string.match(was, '^(%d+) (%d+) (%x+) ')
    version = tonumber(version)
end
local expected = tonumber(ARGV[2])
if version ~= expected then
    if version == expected + 1 and token == ARGV[3] then return updated end
    return false
end
redis.call('HSET', KEYS[1], ARGV[1], text(expected + 1) .. ' ' .. text(now) .. ' ' .. ARGV[3] .. ' ' .. ARGV[4])
redis.call('ZADD', KEYS[2], 0, ARGV[1])
return text(now)
""",
    # runs, or those with the status: run key prefix, records key prefix, status, limit, microseconds, after id
    "runs": """
local function before(one, other)
    for at = 1, math.min(#one, #other) do
        local a, b = string.byte(one, at), string.byte(other, at)
        if a ~= b then return a < b end
    end
    return #one < #other
end
local found, offset, top = {}, 0, ARGV[5] == '' and '+inf' or ARGV[5]
while #found < tonumber(ARGV[4]) do
    local page = redis.call('ZREVRANGEBYSCORE', KEYS[1], top, '-inf', 'WITHSCORES', 'LIMIT', offset, 256)
    if #page == 0 then break end
    offset = offset + 256
    for at = 1, #page, 2 do
        local id = page[at]
        local later = page[at + 1] == ARGV[5] and not before(id, ARGV[6])
        if not later and (ARGV[3] == '' or redis.call('HGET', ARGV[1] .. id, 'status') == ARGV[3]) then
            local state = redis.call('HMGET', ARGV[1] .. id, 'status', 'fence', 'created', 'updated', 'detail',
                'records', 'head', 'owner', 'expires', 'epoch', 'kind', 'run_at', 'tenant', 'priority', 'attempts',
                'version')
            table.insert(found, {id, redis.call('HLEN', ARGV[2] .. id), state})
            if #found == tonumber(ARGV[4]) then break end
        end
    end
end
return found
""",
    **QUEUE_SCRIPTS,
}
"""The scripts, each with its keys and its arguments."""
