import { env } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import { createPatchStore } from '../../../src/agents/storage/patch-store'
import type { AccountId, ActivationId } from '../../../src/shared/ids'

test('X12: a patch belongs to its attempt, and goes with its run and no other', async () => {
  const store = createPatchStore(env.FILES)
  const name = (agent: string, run: string, attempt: number) => ({
    agentId: agent as AccountId,
    activationId: run as ActivationId,
    attempt,
  })
  const names = [name('a', 'r1', 1), name('a', 'r1', 2), name('a', 'r11', 1), name('b', 'r1', 1)]
  for (const each of names) await store.save(each, JSON.stringify(each))
  const read = async () => (await Promise.all(names.map(store.read))).map((text) => text !== null)
  expect(await store.read(name('a', 'r1', 2))).toBe(JSON.stringify(names[1]))
  expect(await store.read(name('a', 'r1', 3))).toBeNull()
  for (const _ of 'twice') await store.delete('a' as AccountId, ['r1' as ActivationId])
  expect(await read()).toEqual([false, false, true, true])
  await store.delete('a' as AccountId, ['r11' as ActivationId])
  expect((await env.FILES.list({ prefix: 'patches/' })).objects).toHaveLength(1)
})
