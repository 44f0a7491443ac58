"""The beginning of the Lua scripts: the time, and the functions over one run that several of them call.

`change` sets fields of a run and moves it in every index, as its fields then require. The indexes of the queue are
`queue:groups`, the names of the groups that have runs; `queue:group:NAME`, the queued runs of a kind, version, tenant
and priority by time; `queue:due`, all queued runs by time; `queue:running`, by the end of their leases; and
`queue:look`, the suspended ones by the time of the next look. Only runs with an entry are in them.
"""

from __future__ import annotations

from bobcat.stores.queue import ENDED_WELL, FIRST_LOOK_SECONDS, RELEASED_SECONDS

NOW = """
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local function text(number) return string.format('%.0f', number) end
"""

RUN = (
    NOW
    + """
local run, runs, store, id = KEYS[1], KEYS[2], KEYS[3], ARGV[1]
local prefix = string.sub(run, 1, string.len(run) - string.len(id) - 4)
local queue = prefix .. 'queue:'
local function unplace()
    local was = redis.call('HMGET', run, 'group', 'member', 'listed')
    if was[1] then
        redis.call('ZREM', queue .. 'group:' .. was[1], was[2])
        if redis.call('EXISTS', queue .. 'group:' .. was[1]) == 0 then
            redis.call('SREM', queue .. 'groups', was[1])
        end
        redis.call('HDEL', run, 'group', 'member')
    end
    for _, index in ipairs({'due', 'running', 'look'}) do redis.call('ZREM', queue .. index, id) end
    if was[3] then redis.call('ZREM', prefix .. 'status:' .. was[3], id) end
end
local function place()
    unplace()
    local state = redis.call('HMGET', run, 'status', 'kind', 'version', 'tenant', 'priority', 'run_at', 'place',
        'owner', 'expires', 'updated', 'look')
    local status = state[1]
    redis.call('HSET', run, 'listed', status)
    redis.call('ZADD', prefix .. 'status:' .. status, state[10], id)
    if not state[2] then return end
    if status == 'queued' then
        local group = table.concat({state[2], state[3], state[4], state[5]}, '\\0')
        local member = string.format('%016d', tonumber(state[7])) .. id
        redis.call('HSET', run, 'group', group, 'member', member)
        redis.call('SADD', queue .. 'groups', group)
        redis.call('ZADD', queue .. 'group:' .. group, state[6], member)
        redis.call('ZADD', queue .. 'due', state[6], id)
    elseif status == 'running' then
        local ends = state[8] and state[9] or text(tonumber(state[10]) + RELEASED)
        redis.call('ZADD', queue .. 'running', ends, id)
    elseif status == 'suspended' and state[11] then
        redis.call('ZADD', queue .. 'look', state[11], id)
    end
end
local function announce() redis.call('PUBLISH', prefix .. 'queued', '') end
local function change(...)
    if redis.call('EXISTS', run) == 0 then
        local epoch, fence = redis.call('HGET', store, 'epoch') or '1', redis.call('HGET', store, 'fence') or '0'
        redis.call('HSET', run, 'status', 'running', 'detail', '{}', 'created', text(now), 'epoch', epoch,
            'fence', fence)
    end
    redis.call('HSET', run, 'updated', text(now), ...)
    redis.call('ZADD', runs, text(now), id)
    place()
end
local function set_status(status, ...)
    local before = redis.call('HMGET', run, 'status', 'attempts', 'kind')
    local ended_well = {ENDED_WELL}
    if before[1] == 'running' and ended_well[status] and tonumber(before[2] or '0') > 0 then
        redis.call('HINCRBY', run, 'attempts', -1)
    end
    if status == 'suspended' and before[3] then
        redis.call('HSET', run, 'look', text(now + FIRST_LOOK))
    else
        redis.call('HDEL', run, 'look')
    end
    change('status', status, ...)
end
local function mine(fence, owner) -- false: a run without an owner
    local state = redis.call('HMGET', run, 'fence', 'owner')
    return state[1] == fence and state[2] == owner
end
local function held(fence, owner)
    return mine(fence, owner) and tonumber(redis.call('HGET', run, 'expires')) > now
end
""".replace("RELEASED", str(int(RELEASED_SECONDS * 1e6)))
    .replace("FIRST_LOOK", str(int(FIRST_LOOK_SECONDS * 1e6)))
    .replace("ENDED_WELL", ", ".join(f"{each} = true" for each in ENDED_WELL))
)
