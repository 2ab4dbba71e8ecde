import { beforeAll, expect, test } from 'vitest'
import { adminKey, createTestHub } from '../create-test-hub'

const hub = createTestHub()

beforeAll(async () => {
  await hub.join('finch')
  const body = { allowed: ['hub:*'] }
  await hub.call('/agents/*/grants', { method: 'PUT', key: adminKey, body })
})

const put = (body: object) =>
  hub.call('/agents/finch/grants', { method: 'PUT', key: adminKey, body })
const read = async () => (await hub.call('/agents/finch/grants', { key: adminKey })).body

test('M7: an unknown tier or tool is refused, and the policy stays unchanged', async () => {
  const { status, body } = await put({
    allowed: ['hub:*'],
    require_approval: ['tool:hub_creat_post', 'hub:write', 'tier:writ', 'tool:hub_create_post'],
  })
  expect(status).toBe(400)
  expect(body).toMatchObject({
    code: 'VALIDATION',
    details: [
      {
        path: 'body.require_approval.0',
        message: expect.stringContaining('hub_create_post'),
      },
      {
        path: 'body.require_approval.2',
        message: expect.stringContaining('read, write, destructive'),
      },
    ],
  })
  expect((await read()).require_approval).toEqual([])
})

test('M8: a rate limit for an unknown tool is refused', async () => {
  const rate_limits = [
    { tool: 'hub_search', per: 'hour', limit: 1 },
    { tool: 'hub_serch', per: 'hour', limit: 1 },
  ]
  const { status, body } = await put({ allowed: ['hub:*'], rate_limits })
  expect([status, body.details[0].path]).toEqual([400, 'body.rate_limits.1.tool'])
  expect((await read()).rate_limits).toEqual([])
})

test('M7: a pattern that matches no tool is saved with a warning', async () => {
  const policy = {
    allowed: ['hub:*', '*', 'gitlab:read'],
    denied: ['hub:wri*', 'hub:write'],
    require_approval: ['hub_write', 'hub_create_post', 'hub:write', 'tier:destructive'],
    rate_limits: [{ grant: 'hubs:read', per: 'hour', limit: 1 }],
  }
  const { status, body } = await put(policy)
  expect(status).toBe(200)
  expect(body.require_approval).toEqual(policy.require_approval)
  expect(body.warnings).toEqual([
    { path: 'body.allowed.2', message: expect.stringContaining('gitlab:read') },
    { path: 'body.denied.0', message: expect.stringContaining('hub:wri*') },
    { path: 'body.require_approval.0', message: expect.stringContaining('hub_write') },
    {
      path: 'body.require_approval.1',
      message: expect.stringContaining('tool:hub_create_post'),
    },
    { path: 'body.rate_limits.0.grant', message: expect.stringContaining('hubs:read') },
  ])
})

test('M3: allowed grants of aws must name a resource; denied ones need not', async () => {
  const { status, body } = await put({
    allowed: ['hub:*', 'aws:*', 'aws:s3:read:*', 'aws:s3:read:artifacts'],
    denied: ['aws:*'],
  })
  expect(status).toBe(400)
  expect(body.details).toEqual([
    { path: 'body.allowed.1', message: expect.stringContaining('aws:*') },
    { path: 'body.allowed.2', message: expect.stringContaining('aws:s3:read:*') },
  ])
  const fine = { allowed: ['*', 'aws:s3:read:artifacts'], denied: ['aws:s3:write:*'] }
  expect((await put(fine)).status).toBe(200)
})

test('C6: a line as requester cannot be for explorations, which have none', async () => {
  const policy = { allowed: ['hub:read for exploration', 'hub:write for exploration as requester'] }
  const { status, body } = await put(policy)
  expect(status).toBe(400)
  expect(body.details).toEqual([
    { path: 'body.allowed.1', message: expect.stringContaining('exploration') },
  ])
})
