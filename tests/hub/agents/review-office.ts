import { expect } from 'vitest'
import type { CommentId, PostId } from '../../../src/shared/ids'
import { signEvent } from '../../support/github-events'
import { readCost } from '../create-test-hub'
import { createOffice } from '../runs/create-office'
import { recordPush } from './record-push'

/** What an answer says of a delivery; undefined: it was refused. */
const toOutcome = (status: number, note: string | null) => {
  if (status === 202) return note === null ? 'started' : 'held'
  if (status !== 200) return undefined
  return note?.includes('which branch') ? 'noted' : 'ignored'
}

interface Hook {
  id: string
  url: string
  secret: string
}
export interface Sent {
  event?: string
  secret?: string
  hook?: Hook
  delivery?: string
}

/** Creates a hub with two people, two coding agents and a trigger for reviews, and what is done there. */
export async function createReviewOffice() {
  const place = await furnish()
  return { ...place, ...createDeliveries(place), ...createRuns(place) }
}

type Place = Awaited<ReturnType<typeof furnish>>
export type Account = Place['mira']

async function furnish() {
  const office = createOffice()
  const { hub, hubApi } = office
  const mira = await hub.join('mira', 'human')
  const ada = await hub.join('ada', 'human')
  const coder = await office.createAgent('coder')
  const finch = await office.createAgent('finch')
  await hubApi.sweep(hub.clock.now())
  const createHook = async ({ key }: typeof mira, agent: typeof mira): Promise<Hook> => {
    const fields = { agent: agent.name, takes_reviews: true, verify: 'github' }
    const { status, body } = await hub.call('/triggers', { key, body: fields })
    expect(status, JSON.stringify(body)).toBe(201)
    return body.trigger
  }
  /** Mira's, for coder. */
  const hook = await createHook(mira, coder)
  return { office, mira, ada, coder, finch, createHook, hook }
}

function createDeliveries({ office: { hub, hubApi }, hook }: Place) {
  let deliveries = 0
  /** Sends an event as GitHub does. */
  async function send(payload: object, sent: Sent = {}) {
    const { event = 'pull_request_review', delivery = `d-${++deliveries}` } = sent
    const { url, secret } = sent.hook ?? hook
    // Spaces, as a signature is for the text as it was sent.
    const text = JSON.stringify(payload, null, 1)
    const signature = await signEvent(text, sent.secret ?? secret)
    hub.clock.advance(1)
    const { status, body, headers } = await hub.call(url.replace('http://hub.test/api/v1', ''), {
      body: text,
      headers: {
        'x-github-event': event,
        'x-github-delivery': delivery,
        'x-hub-signature-256': signature,
      },
    })
    const { code, note } = body
    return { status, outcome: toOutcome(status, note), code, trips: readCost(headers).roundTrips }
  }

  const sweep = () => hubApi.sweep(hub.clock.now())
  async function settle(): Promise<void> {
    hub.clock.advance(15_000)
    for (const id of (await sweep()).wake) hub.seen.woken.push(id)
  }

  /** Sends what is whole once no more of its review comes, and lets a sweep find that. */
  async function sendWhole(payload: object, sent: Sent = {}) {
    const answer = await send(payload, sent)
    await settle()
    return answer
  }
  return { send, sendWhole, settle, sweep }
}

function createRuns({ office, mira, coder }: Place) {
  const { hub, hubApi, all } = office
  const waiting = async ({ id }: Account) =>
    (await office.inbox(id)).filter(({ is_task, read_at }) => is_task === 1 && read_at === null)

  async function answer({ id: agentId }: Account) {
    const { activationId, ...loaded } = await office.start(agentId)
    const id = office.newId<CommentId>()
    hub.clock.advance(1)
    const postId = loaded.thread?.post.id ?? null
    const parentId = loaded.items.at(-1)?.commentId ?? null
    const reply = { id, postId, parentId, content: 'Done.' }
    const done = await office.commit(agentId, activationId, { reply })
    expect(done).toMatchObject({ replyId: id, replyRefusal: null })
    return { ...loaded, id, activationId }
  }

  let branches = 0
  /** A thread in which mira asked an agent, whose run pushed a branch and answered. */
  async function pushFrom(agent = coder, isOk = true): Promise<{ postId: PostId; branch: string }> {
    const postId = await office.post(mira.key, `@${agent.name} please fix the date parser`)
    const branch = `rookery/${agent.name}-${++branches}`
    const started = await office.start(agent.id)
    const activation = { agentId: agent.id, activationId: started.activationId }
    const ref = `refs/heads/${branch}`
    await recordPush(hubApi, activation, { ref, isOk, at: hub.clock.now() })
    const reply = {
      id: office.newId<CommentId>(),
      postId,
      parentId: null,
      content: 'I opened a pull request.',
    }
    hub.clock.advance(1)
    await office.commit(agent.id, started.activationId, { reply })
    hub.seen.woken = []
    return { postId, branch }
  }
  const comments = (postId: PostId) =>
    all('SELECT * FROM comments WHERE post_id = ? ORDER BY created_at, id', postId)
  return { waiting, answer, pushFrom, comments }
}
