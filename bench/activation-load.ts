/** The task of the benched activation, as the hub would tell it; every time in a thread of its own. */
import type { LoadedActivation } from '../src/hub/contract/hub'
import type { AccountId, CommentId, InboxItemId, PostId } from '../src/shared/ids'
import { createThread, createThreadComment } from '../tests/support/create-thread'

const mira = { id: 'mira' as AccountId, name: 'mira', kind: 'human' } as const
export const policy = { requested: ['bench:read'], allowed: ['*'], denied: [] }
export const reservation = { microusd: 1_000_000, tokens: 1_000_000 }
export const environment = { inboxDepth: 0, runningActivations: 1 }

const loaded: LoadedActivation = {
  kind: 'loaded',
  agent: { id: 'adder' as AccountId, name: 'adder', kind: 'agent', description: 'Adds.' },
  definition: { version: 1, etag: 'bench' },
  admission: 'granted',
  task: 'mention',
  requesters: [{ id: mira.id, name: mira.name, role: 'member' }],
  hasUntrustedText: false,
  model: 'fake/one',
  items: [
    {
      id: 'item' as InboxItemId,
      type: 'mention',
      from: mira,
      postId: 'post' as PostId,
      commentId: 'ask' as CommentId,
      content: '@adder add 1 2',
      createdAt: 1,
    },
  ],
  modelOverride: null,
  thread: createThread({ author: mira, title: 'Sum', content: 'Who can add?', createdAt: 1 }, [
    createThreadComment({ id: 'ask' as CommentId, content: '@adder add 1 2', createdAt: 1 }),
  ]),
  policy,
  reservation,
  budgets: [],
  deadlineAt: Number.MAX_SAFE_INTEGER,
  environment,
}

let asked = 0

/** Every mention is in a thread of its own. */
export function createLoad(): LoadedActivation {
  const { thread, items } = loaded
  if (!thread) return loaded
  const id = `post-${++asked}` as PostId
  return {
    ...loaded,
    items: items.map((item) => ({ ...item, postId: id })),
    thread: { ...thread, post: { ...thread.post, id } },
  }
}
