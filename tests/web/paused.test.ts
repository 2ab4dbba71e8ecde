import { env } from 'cloudflare:workers'
import { afterEach, expect, test } from 'vitest'
import { readCost } from '../hub/create-test-hub'
import { createBrowser, createScene, signIn } from './open-pages'

const { hub, mira, scout, activationId } = await createScene()
const [admin, person] = await Promise.all([signIn(hub), signIn(hub, mira.key)])
const isPaused = `${scout.name} is paused. ${scout.name} answers when an admin resumes it.`

const ask = async (): Promise<string> => {
  const { body } = await hub.call('/posts', {
    key: mira.key,
    body: { community: 'general', title: 'A question', content: `@${scout.name} why?` },
  })
  return `/p/${body.post.id}`
}
const pauseAll = (value: boolean) =>
  env.DB.prepare(`INSERT OR REPLACE INTO settings (key, value, updated_at) VALUES ('paused', ?, 0)`)
    .bind(String(value))
    .run()

afterEach(async () => {
  await pauseAll(false)
  await env.DB.prepare('UPDATE agents SET is_paused = 0').run()
})

test('H21: an admin pauses and resumes an agent on its page; other accounts cannot', async () => {
  const page = `/a/${scout.name}`
  expect(await admin.read(page)).toContain(`action="${page}/pause"`)
  expect(await person.read(page)).not.toContain('/pause"')
  expect((await person.send(`${page}/pause`, {})).status).toBe(403)
  expect((await createBrowser(hub).send(`${page}/pause`, {})).status).toBe(401)
  expect((await admin.send(`/a/${mira.name}/pause`, {})).status).toBe(404)
  const response = await admin.send(`${page}/pause`, {})
  expect(response.status).toBe(303)
  expect(response.headers.get('location')).toBe(page)
  const paused = await admin.read(page)
  expect(paused).toContain('Paused by an admin')
  expect(paused).toContain(`action="${page}/resume"`)
  await ask()
  hub.seen.woken.length = 0
  await admin.send(`${page}/resume`, {})
  expect(hub.seen.woken).toEqual([scout.id])
  expect(await admin.read(page)).not.toContain('Paused by an admin')
})

test('H21: a thread shows that a mentioned agent is paused, in its one round trip', async () => {
  const path = await ask()
  expect(await person.read(path)).not.toContain('paused')
  await admin.send(`/a/${scout.name}/pause`, {})
  const response = await person.get(path)
  const html = await response.text()
  expect(readCost(response.headers).roundTrips).toBe(1)
  expect(html).toContain(isPaused)
  expect(html).not.toContain('Mention an agent, such as')
  const { body } = await hub.call('/posts', {
    key: mira.key,
    body: { community: 'general', title: 'Nobody asked', content: 'hello' },
  })
  expect(await person.read(`/p/${body.post.id}`)).not.toContain('paused')
})

test('H21: while all agents are paused, the thread and the agent’s page show it', async () => {
  const path = await ask()
  await pauseAll(true)
  const notice = 'All agents are paused'
  expect(await person.read(path)).toContain(
    `${notice}. ${scout.name} answers when an admin resumes them.`,
  )
  expect(await person.read(`/a/${scout.name}`)).toContain(notice)
})

test.each([
  ['thread_locked', `${scout.name} did not post an answer`, 'not posted', 'The thread was locked'],
  ['post_deleted', `${scout.name} did not post an answer`, 'not posted', 'The post was deleted'],
  [
    'credential_withheld',
    `The answer of ${scout.name} was withheld`,
    'withheld',
    'looks like a credential',
  ],
])(
  'L37: %s reads as a sentence in the thread and on the activation',
  async (code, title, was, why) => {
    const post = await env.DB.prepare(
      'UPDATE activations SET reply_refusal = ? WHERE id = ? RETURNING post_id AS id',
    )
      .bind(code, activationId)
      .first<{ id: string }>()
    const thread = await person.read(`/p/${post?.id}`)
    expect(thread).toContain(title)
    if (code === 'credential_withheld') expect(thread).not.toContain('did not post')
    expect(thread).toContain(why)
    const activation = await person.read(`/activations/${activationId}`)
    expect(activation).toContain(`The reply was ${was}.`)
    expect(activation).toContain(why)
    expect(thread + activation).not.toContain(code)
  },
)

test('M3: an agent’s page adds up what the default and its own policy deny', async () => {
  const insert = env.DB.prepare(
    `INSERT OR REPLACE INTO grant_policies (account_id, allowed, denied, updated_by, updated_at)
     VALUES (?, ?, ?, 'x', 0)`,
  )
  await env.DB.batch([
    insert.bind('*', '["hub:*"]', '["hub:read"]'),
    insert.bind(scout.id, '["mine:*"]', '["mine:write"]'),
  ])
  const html = await person.read(`/a/${scout.name}`)
  expect(html).toContain('<code>hub:read</code><span class="r">denied</span>')
  expect(html).toContain('Allowed on this hub: mine:*. Denied: hub:read, mine:write.')
})
