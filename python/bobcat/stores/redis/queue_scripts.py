"""The Lua scripts of the queue: see `bobcat.stores.queue` for the order, and `lua` for the indexes."""

from __future__ import annotations

from bobcat.stores.redis.lua import NOW, RUN

QUEUE_SCRIPTS = {
    # run, runs, store: id, detail, expected statuses between commas, owner, repeated or "", kind, version, tenant,
    # priority, microseconds, attempts
    "queue": RUN
    + """
local was = redis.call('HMGET', run, 'status', 'owner', 'expires', 'detail', 'run_at')
if was[1] then
    local held = was[1] == 'running' and was[2] and was[2] ~= ARGV[4] and tonumber(was[3]) > now
    if held or not string.find(ARGV[3], ',' .. was[1] .. ',', 1, true) then
        if ARGV[5] ~= '' and was[1] == 'queued' and was[4] == ARGV[2] and was[5] == ARGV[10] then return 'set' end
        return 'not ' .. was[1]
    end
    if was[2] == ARGV[4] then redis.call('HDEL', run, 'owner') end
end
local turn = text(redis.call('HINCRBY', store, 'turn', 1))
redis.call('HSETNX', queue .. 'served', ARGV[8], turn)
redis.call('HDEL', run, 'look')
change('status', 'queued', 'detail', ARGV[2], 'kind', ARGV[6], 'version', ARGV[7], 'tenant', ARGV[8],
    'priority', ARGV[9], 'run_at', ARGV[10], 'attempts', ARGV[11], 'place', turn)
announce()
return 'set'
""",
    # run, runs, store: id, kind, version, tenant, priority, microseconds, attempts
    "adopt": RUN
    + """
local was = redis.call('HMGET', run, 'status', 'kind', 'updated')
if not was[1] or was[2] then return 0 end
local turn = text(redis.call('HINCRBY', store, 'turn', 1))
redis.call('HSETNX', queue .. 'served', ARGV[4], turn)
redis.call('HSET', run, 'kind', ARGV[2], 'version', ARGV[3], 'tenant', ARGV[4], 'priority', ARGV[5],
    'run_at', ARGV[6], 'attempts', ARGV[7], 'place', turn)
if was[1] == 'suspended' then redis.call('HSET', run, 'look', text(now)) end
place()
announce()
return 1
""",
    # run key prefix, runs, store: "", request, owner, microseconds, repeated or ""
    "claim": RUN
    + """
local request, owner = cjson.decode(ARGV[2]), ARGV[3]
local function at(name) id, run = name, prefix .. 'run:' .. name end
local function accepts(kind, version)
    local versions = request.kinds[kind]
    if type(versions) ~= 'table' then return versions or false end
    for _, each in ipairs(versions) do
        if each == version then return true end
    end
    return false
end
local function claimed(taken_over)
    local state = redis.call('HMGET', run, 'fence', 'expires', 'kind', 'run_at', 'tenant', 'priority', 'attempts',
        'version')
    return {id, taken_over, state}
end
local function take(taken_over)
    local state = redis.call('HMGET', run, 'fence', 'attempts', 'version', 'tenant')
    redis.call('HDEL', run, 'look')
    if not taken_over then
        redis.call('HSET', queue .. 'served', state[4], text(redis.call('HINCRBY', store, 'turn', 1)))
    end
    local version = state[3]
    if version == '' then version = request.version end
    change('status', 'running', 'owner', owner, 'expires', text(now + ARGV[4]), 'fence', text(tonumber(state[1]) + 1),
        'attempts', text(tonumber(state[2]) + 1), 'version', version)
    return claimed(taken_over and 1 or 0)
end
local running = queue .. 'running'
if ARGV[5] ~= '' then
    for _, name in ipairs(redis.call('ZRANGE', running, 0, -1)) do
        at(name)
        if redis.call('HGET', run, 'owner') == owner then return claimed(0) end
    end
end
local tenants, kinds = {}, {}
if request.limited then
    for _, name in ipairs(redis.call('ZRANGE', running, 0, -1)) do
        local state = redis.call('HMGET', prefix .. 'run:' .. name, 'tenant', 'kind')
        tenants[state[1]], kinds[state[2]] = (tenants[state[1]] or 0) + 1, (kinds[state[2]] or 0) + 1
    end
end
local function leaves_room(tenant, kind)
    local limit = request.tenant_limits[tenant] or request.tenant_limit
    if tenant ~= '' and limit and (tenants[tenant] or 0) >= limit then return false end
    return not request.kind_limits[kind] or (kinds[kind] or 0) < request.kind_limits[kind]
end
for _, name in ipairs(redis.call('ZRANGEBYSCORE', running, '-inf', text(now))) do
    at(name)
    local state = redis.call('HMGET', run, 'kind', 'version')
    if (not request.run_id or request.run_id == name) and accepts(state[1], state[2]) then return take(true) end
end
local function free(name)
    local state = redis.call('HMGET', prefix .. 'run:' .. name, 'owner', 'expires')
    return not state[1] or tonumber(state[2]) <= now
end
if request.run_id then
    at(request.run_id)
    local state = redis.call('HMGET', run, 'status', 'kind', 'version', 'tenant', 'run_at')
    if state[1] == 'queued' and state[2] and tonumber(state[5]) <= now and free(id) and accepts(state[2], state[3])
        and leaves_room(state[4], state[2]) then return take(false) end
    return false
end
local function head(group)
    local offset = 0
    while true do
        local found = redis.call('ZRANGEBYSCORE', queue .. 'group:' .. group, '-inf', text(now), 'WITHSCORES',
            'LIMIT', offset, 1)
        if not found[1] then return nil end
        if free(string.sub(found[1], 17)) then return found[1], tonumber(found[2]) end
        offset = offset + 1
    end
end
local best = nil
for _, group in ipairs(redis.call('SMEMBERS', queue .. 'groups')) do
    local kind, version, tenant, priority = string.match(group, '^(%Z*)%z(%Z*)%z(%Z*)%z(%-?%d+)$')
    if accepts(kind, version) and leaves_room(tenant, kind) then
        local member, run_at = head(group)
        if member then
            local served = tonumber(redis.call('HGET', queue .. 'served', tenant) or '0')
            local each = {served, -tonumber(priority), run_at, tonumber(string.sub(member, 1, 16)), member}
            local before = best == nil
            for position = 1, 4 do
                if before or each[position] > best[position] then break end
                if each[position] < best[position] then before = true end
            end
            if before then best = each end
        end
    end
end
if best == nil then return false end
at(string.sub(best[5], 17))
return take(false)
""",
    # run, runs, store: id, microseconds or ""
    "look_at": RUN
    + """
local state = redis.call('HMGET', run, 'status', 'kind')
if state[1] ~= 'suspended' or not state[2] then return 0 end
if ARGV[2] == '' then redis.call('HDEL', run, 'look') else redis.call('HSET', run, 'look', ARGV[2]) end
place()
return 1
""",
    # queue key prefix
    "next_due": NOW
    + """
local earliest = nil
for _, index in ipairs({'due', 'running', 'look'}) do
    local found = redis.call('ZRANGEBYSCORE', KEYS[1] .. index, '(' .. text(now), '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
    if found[2] and (earliest == nil or tonumber(found[2]) < earliest) then earliest = tonumber(found[2]) end
end
return earliest and text(earliest)
""",
    # queue key prefix: limit
    "overdue": NOW
    + """
return redis.call('ZRANGEBYSCORE', KEYS[1] .. 'look', '-inf', text(now), 'LIMIT', 0, ARGV[1])
""",
    # run key prefix, runs, store: ""
    "index_runs": RUN
    + """
for _, name in ipairs(redis.call('ZRANGE', runs, 0, -1)) do
    id, run = name, prefix .. 'run:' .. name
    if redis.call('HEXISTS', run, 'status') == 1 then place() end
end
return 'set'
""",
}
"""The scripts, each with its keys and its arguments."""
