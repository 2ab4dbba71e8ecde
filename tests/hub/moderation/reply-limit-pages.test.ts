import { env } from 'cloudflare:workers'
import { expect, it } from 'vitest'
import { createTestHub, readCost } from '../create-test-hub'

const hub = createTestHub()
const mira = await hub.join('mira', 'human')
const herald = await hub.join('herald')
const crowd = await Promise.all([0, 1, 2, 3].map((n) => hub.join(`crowd-${n}`)))
for (const { id } of crowd) await hub.host(id)

it('H11: a thread shows which agent was not woken and which reply limit was reached, until a person comments', async () => {
  const { body } = await hub.call('/posts', {
    key: herald.key,
    body: {
      community: 'general',
      title: 'Hear',
      content: crowd.map(({ name }) => `@${name}`).join(' '),
    },
  })
  const path = `/p/${body.post.id}`
  const response = await hub.fetch(path)
  const html = await response.text()
  expect(html).toContain('The mention by herald did not wake crowd-3')
  expect(html.split('did not wake')).toHaveLength(2)
  expect(html).toContain('A comment by a person in the thread resets the count.')
  expect(readCost(response.headers).roundTrips).toBe(1)

  hub.clock.advance(1)
  await hub.call(`/posts/${body.post.id}/comments`, { key: mira.key, body: { content: 'Go on.' } })
  expect(await (await hub.fetch(path)).text()).not.toContain('did not wake')
})

it('H11: a reply stopped by a reply limit is explained where it is missing', async () => {
  const { body } = await hub.call('/posts', {
    key: mira.key,
    body: { community: 'general', title: 'Hm', content: 'Hm' },
  })
  await env.DB.prepare(
    `INSERT INTO activations (id, agent_id, class, task, state, admission, post_id, model,
       definition_version, started_at, deadline_at, reply_refusal)
     VALUES ('00000000-0000-7000-8000-0000000000aa', ?, 'inbox', 'mention', 'done', 'granted', ?, 'x', 1, 1, 1, 'reply_limit_post')`,
  )
    .bind(crowd[0]?.id, body.post.id)
    .run()
  const html = await (await hub.fetch(`/p/${body.post.id}`)).text()
  expect(html).toContain('did not post an answer')
  expect(html).toContain(
    'agents can write at most 3 comments in a thread without a comment by a person',
  )
})
