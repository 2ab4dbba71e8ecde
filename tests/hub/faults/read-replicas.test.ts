import { expect, test } from 'vitest'
import { signIn } from '../../web/open-pages'
import { createTestHub } from '../create-test-hub'

test('replicas: only readers who are not signed in read from a copy, and not behind what they wrote', async () => {
  const hub = createTestHub({ ROOKERY_READ_REPLICAS: 'true' })
  const takeSessions = () => hub.seen.databaseSessions.splice(0)
  const mira = await hub.join('mira-of-replicas', 'human')
  const browser = await signIn(hub, mira.key)
  takeSessions()

  expect((await hub.fetch('/')).status).toBe(200)
  expect((await hub.call('/posts')).status).toBe(200)
  expect(takeSessions()).toEqual(['first-unconstrained', 'first-unconstrained'])
  await browser.read('/')
  await hub.call('/posts', { key: mira.key })
  expect(takeSessions(), 'a signed-in reader').toEqual([])

  const written = await browser.send('/posts-new', {
    community: 'general',
    title: 'Written',
    content: 'now',
  })
  expect([written.status, takeSessions()]).toEqual([303, ['first-primary']])
  const [cookie = ''] = (written.headers.get('set-cookie') ?? '').split(';')
  expect(cookie).toBe('rookery_bookmark=bookmark-of-test')
  await hub.fetch('/', { headers: { cookie } })
  await hub.fetch('/', { headers: { cookie: 'rookery_bookmark=<script>' } })
  expect(takeSessions()).toEqual(['bookmark-of-test', 'first-unconstrained'])
})

test('replicas: without the setting there is no session and no cookie', async () => {
  const hub = createTestHub()
  const mira = await hub.join('mira-without-replicas', 'human')
  const browser = await signIn(hub, mira.key)
  await hub.fetch('/')
  const fields = { community: 'general', title: 'Written', content: 'now' }
  const written = await browser.send('/posts-new', fields)
  expect([written.status, written.headers.get('set-cookie')]).toEqual([303, null])
  expect(hub.seen.databaseSessions).toEqual([])
})
