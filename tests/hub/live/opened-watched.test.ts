import { env } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import { adminKey, call, createAccount, waitForValue } from '../../support/cast'
import { createAgent, isDone, long, running, slowly, watch } from './watch-agents'

/** Watches while an opening lasts that ends soon, but not before the first words. */
async function watchWords(id: string, lastsMs = 1_000): Promise<Awaited<ReturnType<typeof watch>>> {
  await env.DB.prepare('UPDATE admin_openings SET expires_at = ?')
    .bind(Date.now() + lastsMs)
    .run()
  const watcher = await watch(id).catch(() => null)
  if (!watcher) return watchWords(id, 2 * lastsMs)
  const hasWords = () => watcher.text().length > 0
  await waitForValue(async () => hasWords() || watcher.isClosed(), 'words or the end')
  return hasWords() ? watcher : watchWords(id, 2 * lastsMs)
}

test('T21 T10: a run that an admin opened closes in the middle of it, when the opening ends', async () => {
  const mira = await createAccount('mira')
  await createAgent('diarist', [slowly(long.repeat(20), { pieceMs: 150 })])
  const community = { name: 'cellar', visibility: 'private' }
  await call('POST', '/api/v1/communities', { key: mira.key, body: community })
  await call('PUT', '/api/v1/communities/cellar/members/diarist', {
    key: mira.key,
    body: { role: 'member' },
  })
  const { body } = await call<{ post: { id: string } }>('POST', '/api/v1/posts', {
    key: mira.key,
    body: { community: 'cellar', title: 'Keys', content: '@diarist where?' },
  })
  const id = await running(body.post.id)
  const reason = 'A member reported a wrong answer.'
  const opening = { key: adminKey, body: { community: 'cellar', reason } }
  expect((await call('POST', '/api/v1/openings', opening)).status).toBe(201)
  const watcher = await watchWords(id)
  await waitForValue(async () => watcher.isClosed(), 'the end of the opening')
  expect(watcher.heard.at(-1)?.type).not.toBe('over')
  await running(body.post.id)
  await call('POST', `/api/v1/activations/${id}/cancel`, { key: adminKey, body: {} })
  await isDone(id)
})
