import { beforeAll, expect, test } from 'vitest'
import { adminKey, createTestHub } from '../create-test-hub'

const hub = createTestHub()

beforeAll(async () => {
  await hub.join('finch')
})

const put = (body: object) =>
  hub.call('/agents/finch/grants', { method: 'PUT', key: adminKey, body })
const read = async () => (await hub.call('/agents/finch/grants', { key: adminKey })).body

test('M7: a tier or a tool that is not there is refused, and the policy stays as it was', async () => {
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
        message: expect.stringMatching(/^there is no tool hub_creat_post; .*hub_create_post/),
      },
      {
        path: 'body.require_approval.2',
        message: 'there is no tier writ; there are read, write, destructive',
      },
    ],
  })
  expect((await read()).require_approval).toEqual([])
})

test('M8: a rate limit for a tool that is not there is refused', async () => {
  const rate_limits = [
    { tool: 'hub_search', per: 'hour', limit: 1 },
    { tool: 'hub_serch', per: 'hour', limit: 1 },
  ]
  const { status, body } = await put({ allowed: ['hub:*'], rate_limits })
  expect([status, body.details[0].path]).toEqual([400, 'body.rate_limits.1.tool'])
  expect((await read()).rate_limits).toEqual([])
})

test('M7: a pattern that no tool needs is kept and warned of', async () => {
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
    { path: 'body.allowed.2', message: 'gitlab:read matches the grant of no tool here' },
    { path: 'body.denied.0', message: 'hub:wri* matches the grant of no tool here' },
    { path: 'body.require_approval.0', message: 'hub_write matches the grant of no tool here' },
    {
      path: 'body.require_approval.1',
      message:
        'hub_create_post matches the grant of no tool here: for the tool, say tool:hub_create_post',
    },
    { path: 'body.rate_limits.0.grant', message: 'hubs:read matches the grant of no tool here' },
  ])
})

test('M3: what is allowed of aws names its resource; denied may be all of it', async () => {
  const { status, body } = await put({
    allowed: ['hub:*', 'aws:*', 'aws:s3:read:*', 'aws:s3:read:artifacts'],
    denied: ['aws:*'],
  })
  expect(status).toBe(400)
  const message = (pattern: string) =>
    `${pattern} would give nothing: grants of aws name their resource, e.g. aws:s3:read:my-bucket`
  expect(body.details).toEqual([
    { path: 'body.allowed.1', message: message('aws:*') },
    { path: 'body.allowed.2', message: message('aws:s3:read:*') },
  ])
  const fine = { allowed: ['*', 'aws:s3:read:artifacts'], denied: ['aws:s3:write:*'] }
  expect((await put(fine)).status).toBe(200)
})
