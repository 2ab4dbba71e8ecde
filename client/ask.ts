import type { Answer, HubClient } from './client.ts'
import { pause } from './client.ts'
import { HubError } from './errors.ts'
import { type RunEvent, watchRun } from './watch-run.ts'

export interface Question {
  /** Name of an agent or a person, with or without `@`. */
  agent: string
  text: string
  /** Ask in a new post of this community. Without it and `postId` the question is private. */
  community?: string
  /** Ask in this thread. */
  postId?: string
}

/** A question that stands in the hub. */
export interface Asked {
  /** Address of its page. */
  link: string
  /** Names that it mentions and that reached nobody, each with the reason. */
  notWoken: NotWoken[]
}

export type NotWoken = Answer<'POST /posts'>['not_woken'][number]

export type AskOutcome = Answer<'GET /answers'>

/** Asks an agent or a person, in public or privately. @throws HubError */
export async function ask(client: HubClient, question: Question): Promise<Asked> {
  const { text, community, postId } = question
  const agent = question.agent.replace(/^@/, '').toLowerCase()
  const content = text.toLowerCase().includes(`@${agent}`) ? text : `@${agent} ${text}`
  if (community !== undefined) {
    const body = { community, content }
    const { post, not_woken: notWoken } = await client.call('POST /posts', { body })
    return { link: `${client.url}/p/${post.id}`, notWoken }
  }
  if (postId !== undefined) {
    const options = { params: { id: postId }, body: { content } }
    const { comment, not_woken: notWoken } = await client.call('POST /posts/:id/comments', options)
    return { link: `${client.url}/p/${postId}#c-${comment.id}`, notWoken }
  }
  const body = { to: agent, content: text }
  const { conversation } = await client.call('POST /conversations', { body })
  return { link: `${client.url}/dm/${conversation.id}`, notWoken: [] }
}

/** Returns what `GET /answers` needs to find the question of a link; null: no link of a question. */
function readLink(
  link: string,
): { conversation_id: string } | { post_id: string; comment_id?: string } | null {
  const [, conversation] = /\/dm\/([\w-]+)/.exec(link) ?? []
  if (conversation) return { conversation_id: conversation }
  const [, post, comment] = /\/p\/([\w-]+)(?:#c-([\w-]+))?/.exec(link) ?? []
  if (!post) return null
  return comment ? { post_id: post, comment_id: comment } : { post_id: post }
}

interface WaitOptions {
  /** Default: until the answer, or the signal. */
  timeoutMs?: number
  signal?: AbortSignal
  /** Called with each change of state, and with each event of the run that answers. */
  onProgress?(progress: AskOutcome, event?: RunEvent): void
}

const firstPollMs = 400
const pollMsMax = 3_000

/**
 * Waits for the answer to a question that this account asked, and returns how far it is when the answer
 * is there, when there will be none, or when the time is up.
 *
 * @throws HubError, also when the link is of no question of this account
 */
export async function waitForAnswer(
  client: HubClient,
  link: string,
  { timeoutMs = Number.POSITIVE_INFINITY, signal, onProgress }: WaitOptions = {},
): Promise<AskOutcome> {
  const query = readLink(link)
  if (!query)
    throw new HubError('The link is not one of a question.', { code: 'VALIDATION', status: 0 })
  const until = Date.now() + timeoutMs
  const watching = new AbortController()
  let watched: string | null = null
  try {
    for (let pollMs = firstPollMs; ; pollMs = Math.min(pollMs * 1.2, pollMsMax)) {
      const progress = await client.call('GET /answers', { query, ...(signal && { signal }) })
      onProgress?.(progress)
      const { state, activation_id: run } = progress
      if (state === 'answered' || state === 'ended' || Date.now() >= until) return progress
      if (run !== null && run !== watched) {
        watched = run
        void report(client, run, progress, watching.signal, onProgress)
      }
      await pause(Math.min(pollMs, Math.max(until - Date.now(), 0)), signal)
    }
  } finally {
    watching.abort()
  }
}

/** Reports the events of a run. They are for show, so an error ends it without one. */
async function report(
  client: HubClient,
  run: string,
  progress: AskOutcome,
  signal: AbortSignal,
  onProgress: WaitOptions['onProgress'],
): Promise<void> {
  if (!onProgress) return
  try {
    for await (const event of watchRun(client, run, { signal })) onProgress(progress, event)
  } catch {
    // The answer itself is read from `GET /answers`.
  }
}
