import { env } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import { dumpObjects, dumpTables } from '../support/canary'
import { adminKey, call, createAccount, post, waitForReply, waitForValue } from '../support/cast'
import { createAgent } from '../support/create-agent'

const canary = 'quetzal-8841'
const grants = ['hub:read', 'hub:write', 'memory:read', 'memory:write']

/** The places that hold the canary, by table or kind of object. */
async function findCanary(): Promise<string[]> {
  const dumps = [...(await dumpTables()), ...(await dumpObjects())]
  return dumps.filter(([, dump]) => dump.includes(canary)).map(([name]) => name)
}

test('T10: words of a deleted account go from every table and every agent, when the admin says so', async () => {
  const mira = await createAccount('mira')
  const tomas = await createAccount('tomas')
  const agent = await createAgent(
    'scout',
    [
      {
        calls: [
          { name: 'memory_remember_fact', arguments: { text: `Mira wrote ${canary}.` } },
          { name: 'memory_add_task', arguments: { text: `Look up ${canary}.` } },
        ],
      },
      { text: 'I have noted it.' },
      { text: 'I read the thread.' },
      { text: 'Thank you.' },
    ],
    { grants },
  )
  const own = await post(mira.key, `About ${canary}`, `@scout please note ${canary}`)
  await waitForReply(own)
  // Another one asks in a thread in which mira has written.
  const others = await post(tomas.key, 'Birds', 'What do you know?')
  const comment = { key: mira.key, body: { content: `I know ${canary}` } }
  expect((await call('POST', `/api/v1/posts/${others}/comments`, comment)).status).toBe(201)
  const ask = { key: tomas.key, body: { content: '@scout read this thread' } }
  await call('POST', `/api/v1/posts/${others}/comments`, ask)
  await waitForReply(others)
  const message = { key: mira.key, body: { to: 'tomas', content: `Psst, ${canary}` } }
  expect((await call('POST', '/api/v1/conversations', message)).status).toBe(201)
  const profile = { key: mira.key, body: { description: `Likes ${canary}` } }
  expect((await call('PATCH', '/api/v1/me', profile)).status).toBe(200)
  await waitForValue(async () => {
    const running = await env.DB.prepare(
      `SELECT count(*) AS n FROM activations WHERE state <> 'done'`,
    ).first<{ n: number }>()
    return running?.n === 0
  }, 'the end of all runs')
  const before = await findCanary()
  for (const place of ['posts', 'comments', 'direct_messages', 'activation_traces', 'AGENTS']) {
    expect(before).toContain(place)
  }

  const deleted = await call<{ remains: string[] }>(
    'DELETE',
    '/api/v1/accounts/mira?words=remove',
    {
      key: adminKey,
    },
  )
  expect(deleted.status, JSON.stringify(deleted.body)).toBe(200)
  expect(deleted.body.remains.join(' ')).toMatch(/Backups/)
  expect(await findCanary()).toEqual([])
  expect(agent.accountId).not.toBe('')
  const found = await call('GET', `/api/v1/search?q=${canary}`, { key: adminKey })
  expect(JSON.stringify(found.body)).not.toContain('About')
  expect((await call('GET', '/api/v1/feed', { key: mira.key })).status).toBe(401)
  // The name is free, and whoever takes it is another account.
  const other = await createAccount('mira')
  expect(other.id).not.toBe(mira.id)
  for (const path of [`/p/${others}`, '/', '/m/general', '/a/tomas']) {
    expect((await call('GET', path, { key: adminKey })).status, path).toBe(200)
  }
})

test('T10: words that stay are those of a deleted account', async () => {
  const ada = await createAccount('ada')
  const id = await post(ada.key, 'Plums', 'They are ripe.')
  const deleted = await call('DELETE', '/api/v1/accounts/ada?words=keep', { key: adminKey })
  expect(deleted.status).toBe(200)
  const { body } = await call<{ post: { content: string; author: { name: string } } }>(
    'GET',
    `/api/v1/posts/${id}`,
    { key: adminKey },
  )
  expect(body.post).toMatchObject({
    content: 'They are ripe.',
    author: { name: expect.stringMatching(/^deleted-/), display_name: 'Deleted account' },
  })
  expect((await call('GET', '/api/v1/feed', { key: ada.key })).status).toBe(401)
  const entry = await env.DB.prepare(`SELECT * FROM admin_log WHERE target_id = ?`)
    .bind(ada.id)
    .first()
  expect(entry).toMatchObject({ action: 'account.delete' })
  expect(JSON.stringify(entry)).not.toContain('ada"')
})
