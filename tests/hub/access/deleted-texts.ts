import { createHubApi } from '../../../src/hub/api/hub-api'
import type { AccountId, ActivationId, CommentId, PostId } from '../../../src/shared/ids'
import { answered, loaded, toStoredLog, woken } from '../../support/run-log'
import { adminKey } from '../create-test-hub'
import { usageOf } from '../runs/create-office'
import type { World } from './create-world'
import type { Member } from './requesters'

/** A thread of olga in which robin answered, with a word of its own in each text. */
export interface Erased {
  postId: PostId
  commentId: CommentId
  answerId: CommentId
  runs: ActivationId[]
  words: Record<'title' | 'text' | 'url' | 'comment' | 'answer', string>
}

type Part = keyof Erased['words']

/** What is done to a text, and which of the words of its thread nobody may be shown then. */
export interface Erasure {
  does: (thread: Erased, send: Send) => Promise<unknown>
  gone: readonly Part[]
  /** Its author and moderators still see the words at the thread's page. */
  isRemoval?: true
  /** A report on it is open, so that moderators see the words in their queue. */
  isReported?: true
}

type Send = (
  path: string,
  options?: { key?: string; method?: string; body?: unknown },
) => Promise<unknown>

const all: readonly Part[] = ['title', 'text', 'url', 'comment', 'answer']
const ofPost: readonly Part[] = ['title', 'text', 'url']
const reason = { reason: 'Not here.' }

export const erasures = {
  deletedPost: {
    does: ({ postId }, send) => send(`/posts/${postId}`, { method: 'DELETE' }),
    gone: all,
  },
  reportedPost: {
    does: async ({ postId }, send) => {
      await send(`/posts/${postId}/report`, { key: adminKey, method: 'POST', body: reason })
      await send(`/posts/${postId}`, { method: 'DELETE' })
    },
    gone: all,
    isReported: true,
  },
  deletedComment: {
    does: ({ commentId }, send) => send(`/comments/${commentId}`, { method: 'DELETE' }),
    gone: ['comment'],
  },
  removedPost: {
    does: ({ postId }, send) =>
      send(`/posts/${postId}/remove`, { key: adminKey, method: 'POST', body: reason }),
    gone: ofPost,
    isRemoval: true,
  },
  removedComment: {
    does: ({ commentId }, send) =>
      send(`/comments/${commentId}/remove`, { key: adminKey, method: 'POST', body: reason }),
    gone: ['comment'],
    isRemoval: true,
  },
  removedAnswer: {
    does: ({ answerId }, send) =>
      send(`/comments/${answerId}/remove`, { key: adminKey, method: 'POST', body: reason }),
    gone: ['answer'],
    isRemoval: true,
  },
  editedPost: {
    does: ({ postId }, send) =>
      send(`/posts/${postId}`, {
        method: 'PATCH',
        body: { title: 'Another title', content: 'Another text', url: null },
      }),
    gone: ofPost,
  },
  editedComment: {
    does: ({ commentId }, send) =>
      send(`/comments/${commentId}`, { method: 'PATCH', body: { content: 'Another comment' } }),
    gone: ['comment'],
  },
} satisfies Record<string, Erasure>

export type ErasureName = keyof typeof erasures
export const erasureNames = Object.keys(erasures) as ErasureName[]

const wordsOf = (name: ErasureName): Erased['words'] => ({
  title: `${name}Title`,
  text: `${name}Text`,
  url: `${name}Url`,
  comment: `${name}Comment`,
  answer: `${name}Answer`,
})

/** Hub with one thread for each erasure: it mentions people and an agent, whose runs have the words in their traces. */
export async function createThreads({ hub, olga, call }: World) {
  const api = createHubApi(() => hub.context())
  await hub.createWindows()
  const robin = (await hub.join('robin', 'agent')) as Member & { id: AccountId }
  await hub.host(robin.id, { answersReplies: 1 })

  let running: ActivationId | null = null
  /** Starts the run that answers what waits for robin. */
  const start = async () => {
    hub.clock.advance(1_000)
    const activationId = hub.clock.newId<ActivationId>()
    const request = { agentId: robin.id, activationId, now: hub.clock.now(), capacity: 50 }
    const found = await api.load({ ...request, canExplore: false })
    if (found.kind !== 'loaded') throw new Error(`Not loaded: ${JSON.stringify(found)}`)
    running = activationId
    return { ...found, activationId }
  }
  /** Ends the run with the words in its trace, the last of which is its reply. */
  const finish = async (postId: PostId | null = null, words: string[] = []) => {
    if (!running) return
    const activationId = running
    running = null
    const [text, content] = [words.join(' '), words.at(-1) ?? '']
    const reply = postId && { id: hub.clock.newId<CommentId>(), postId, parentId: null, content }
    const log = [
      woken(activationId),
      loaded({ prompt: [{ role: 'user', text }] }),
      answered({ text }),
    ]
    await api.commit({
      agentId: robin.id,
      activationId,
      now: hub.clock.now(),
      outcome: 'completed',
      hasReadUntrusted: false,
      error: null,
      reply,
      report: null,
      iterations: 1,
      usage: [usageOf(30, 3)],
      tools: [],
      audit: [],
      trace: toStoredLog(log),
      model: 'offline/extractive',
    })
    return reply?.id
  }
  const answer = async (postId: PostId, words: string[]) => {
    const { activationId } = await start()
    return { id: (await finish(postId, words)) as CommentId, activationId }
  }

  const create = async (name: ErasureName): Promise<Erased> => {
    const words = wordsOf(name)
    const names = '@robin @piet @mem @exte'
    const body = {
      community: 'general',
      title: `${words.title} plums`,
      content: `${words.text} ${names}`,
      url: `https://example.com/${words.url}`,
    }
    const postId = (await call('/posts', { key: olga.key, body })).post.id as PostId
    const first = await answer(postId, [words.title, words.text, words.url, words.answer])
    const content = `${words.comment} plums ${names}`
    const commentId = (
      await call(`/posts/${postId}/comments`, { key: olga.key, body: { content } })
    ).comment.id as CommentId
    const second = await answer(postId, [words.comment, 'Yes.'])
    return {
      postId,
      commentId,
      answerId: first.id,
      words,
      runs: [first.activationId, second.activationId],
    }
  }

  const threads = {} as Record<ErasureName, Erased>
  for (const name of erasureNames) threads[name] = await create(name)
  // One that runs, in a thread that will be deleted.
  const body = { content: '@robin wait' }
  await call(`/posts/${threads.deletedPost.postId}/comments`, { key: olga.key, body })
  await start()
  const send: Send = (path, options) => call(path, { key: olga.key, ...options })
  return {
    api,
    robin,
    threads,
    start,
    finish,
    erase: async (name: ErasureName) => {
      hub.clock.advance(1_000)
      await erasures[name].does(threads[name], send)
    },
  }
}
