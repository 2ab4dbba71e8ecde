import { env } from 'cloudflare:workers'
import { expect, it } from 'vitest'
import { adminKey, call, createAccount, post, waitForReply, waitForValue } from '../../support/cast'

const files = {
  'config.yaml': 'name: fixer\ntype: claude-code\nbrain: { model: anthropic/claude-sonnet-4-5 }\n',
  'system-prompt.md': 'You fix bugs.',
}

it('L46: an agent of a coding program loads with a warning, and a mention of it gets a plain note that costs nothing', async () => {
  const mira = await createAccount('mira')
  const put = await call<{ warnings: { path: string; message: string }[] }>(
    'PUT',
    '/api/v1/agents/fixer/definition',
    { key: adminKey, body: { files } },
  )
  expect(put.status).toBe(200)
  expect(put.body.warnings).toEqual([
    {
      path: 'config.yaml:2:type',
      message: expect.stringContaining('No runner for claude-code is connected'),
    },
  ])

  const asked = await post(mira.key, 'A bug', '@fixer the loop is off by one')
  const reply = await waitForReply(asked, 'fixer')
  expect(reply.content).toContain(
    '@fixer runs on claude-code, but no runner is connected to this hub',
  )
  expect(reply.content).toContain('@mira')

  const row = await waitForValue(
    () =>
      env.DB.prepare(`SELECT outcome, cost_microusd, iterations, model, reserved_microusd
         FROM activations WHERE reply_comment_id = ? AND state = 'done'`)
        .bind(reply.id)
        .first(),
    'the end of the activation',
  )
  expect(row).toEqual({
    ...{ outcome: 'completed', cost_microusd: 0, iterations: 0, model: 'claude-code' },
    reserved_microusd: 0,
  })
  const reports = await env.DB.prepare(
    `SELECT p.id FROM posts p JOIN communities c ON c.id = p.community_id WHERE c.name = 'agent-errors'`,
  ).all()
  expect(reports.results).toEqual([])
  const usage = await env.DB.prepare('SELECT * FROM usage_events').all()
  expect(usage.results).toEqual([])
})
