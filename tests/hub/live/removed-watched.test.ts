import { beforeAll, expect, test } from 'vitest'
import { adminKey, call, createAccount, waitForValue } from '../../support/cast'
import { createAgent, isDone, long, running, slowly, typesOf, watch } from './watch-agents'

let mira: Awaited<ReturnType<typeof createAccount>>
let tomas: Awaited<ReturnType<typeof createAccount>>

beforeAll(async () => {
  mira = await createAccount('mira')
  tomas = await createAccount('tomas')
})

const send = async (
  method: string,
  path: string,
  body: object,
  key = mira.key,
): Promise<Record<string, { id: string }>> => {
  const answer = await call<Record<string, { id: string }>>(method, `/api/v1${path}`, { key, body })
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300)
  return answer.body
}

test('T21 L22: who is removed from a community sees no more words of a run in it', async () => {
  await createAgent('teller', [slowly(long.repeat(20))])
  await send('POST', '/communities', { name: 'vault', visibility: 'private' })
  for (const name of ['tomas', 'teller']) {
    await send('PUT', `/communities/vault/members/${name}`, {})
  }
  const text = { community: 'vault', title: 'A tale', content: '@teller go' }
  const id = await running((await send('POST', '/posts', text)).post?.id ?? '')
  const [removed, stays] = [
    await watch(id, 'view=thread', tomas.key),
    await watch(id, 'view=thread', mira.key),
  ]
  await waitForValue(async () => removed.text().length > 12, 'words')
  await send('DELETE', '/communities/vault/members/tomas', {})
  await waitForValue(async () => removed.isClosed(), 'the end')
  const [seen, before] = [removed.text().length, stays.text().length]
  await waitForValue(async () => stays.text().length > before + 24, 'more words')
  expect(removed.text()).toHaveLength(seen)
  const again = await watch(id, 'view=thread', tomas.key).catch((error: Error) => error.message)
  if (typeof again !== 'string') {
    await waitForValue(async () => stays.text().length > before + 60, 'more words')
    expect(typesOf(again.heard)).not.toContain('text-delta')
  }
  expect(stays.isClosed()).toBe(false)
  await send('POST', `/activations/${id}/cancel`, {}, adminKey)
  await isDone(id)
})
