import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { MemoryStore, type StoredActivation } from '../../../src/agents/memory/memory-store'
import type { ActivationId } from '../../../src/shared/ids'

let objects = 0

/** Runs in the storage of a fresh object. */
export const inStorage = (
  work: (memory: MemoryStore, sql: SqlStorage) => void | Promise<void>,
): Promise<void> =>
  runInDurableObject(env.AGENTS.getByName(`memory-${objects++}`), (_object, state) =>
    work(new MemoryStore(state.storage.sql), state.storage.sql),
  )

export const turn = (id: number, fields: Partial<StoredActivation> = {}): StoredActivation => ({
  activationId: `act-${id}` as ActivationId,
  sessionId: 'general_p1',
  at: id * 1_000,
  gist: `mira asked ${id}`,
  messages: [
    { role: 'user', text: `question ${id}` },
    { role: 'assistant', text: `answer ${id}`, calls: [] },
  ],
  usage: { inputTokens: 100, cachedTokens: 10, outputTokens: 20, costMicrousd: 7 },
  lastCall: { promptTokens: 100, completionTokens: 20, contextLimit: 8_192 },
  tools: [{ name: 'hub_search', calls: 2, errors: 1, totalMs: 30 }],
  summary: null,
  privateTo: null,
  isUntrusted: false,
  ...fields,
})
