"""The script that counts live runs: over the indexes of the queue, and the suspended runs."""

from __future__ import annotations

from bobcat.stores.redis.lua import NOW

COUNTS = (
    NOW
    + """
local prefix = KEYS[1]
local function size(status) return redis.call('ZCARD', prefix .. 'status:' .. status) end
local queued = {}
for _, group in ipairs(redis.call('SMEMBERS', prefix .. 'queue:groups')) do
    local kind = string.match(group, '^(.-)%z')
    queued[kind] = (queued[kind] or 0) + redis.call('ZCARD', prefix .. 'queue:group:' .. group)
end
local kinds = {}
for kind, number in pairs(queued) do
    table.insert(kinds, kind)
    table.insert(kinds, number)
end
local first = redis.call('ZRANGE', prefix .. 'queue:due', 0, 0, 'WITHSCORES')
local approvals, oldest, uncertain = 0, '', 0
for _, id in ipairs(redis.call('ZRANGE', prefix .. 'status:suspended', 0, -1)) do
    local state = redis.call('HMGET', prefix .. 'run:' .. id, 'detail', 'updated')
    local ids = state[1] and string.match(state[1], '^{"approvals":%[("[^%]]*)%]')
    if ids then
        local _, commas = string.gsub(ids, ',', '')
        approvals = approvals + commas + 1
        if oldest == '' or tonumber(state[2]) < tonumber(oldest) then oldest = state[2] end
        if string.find(state[1], '"uncertain":true', 1, true) then uncertain = uncertain + 1 end
    end
end
return {text(now), size('queued'), size('running'), size('suspended'), kinds,
    redis.call('ZCOUNT', prefix .. 'queue:due', '-inf', text(now)), first[2] or '', approvals, oldest, uncertain}
"""
)
