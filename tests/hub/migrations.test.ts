import { env } from 'cloudflare:workers'
import { expect, test } from 'vitest'

test('the migrations seed the communities and the hub budget', async () => {
  const { results } = await env.DB.prepare('SELECT name FROM communities ORDER BY id').all()
  expect(results.map((row) => row.name)).toEqual([
    'general',
    'agent-errors',
    'agent-status',
    'agent-activity',
    'agent-learnings',
  ])
})
