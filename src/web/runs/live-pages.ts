import type { Context, Handler, Hono } from 'hono'
import type { WatchRequest } from '../../agents/contract/agents'
import { feedTopic, postTopic, toWatcherTags } from '../../hub/contract/live-event'
import {
  declareEntry,
  findClientAddress,
  type HubEnv,
  readCredential,
  readReader,
  readWithViewer,
  requireSameOrigin,
  toErrorResponse,
  type ViewerRead,
} from '../../hub/http/page-entry'
import { liveErrors, upgradeErrors } from '../../hub/live/live-request'
import { openSocket } from '../../hub/live/open-socket'
import { watchTopic } from '../../hub/live/queries'
import { openStoredTrace } from '../../hub/operations/archive-view'
import { findTraceAccess, readTrace, type TraceAccess } from '../../hub/rules/traces'
import { liveLimits } from '../../shared/config'
import type { Statements } from '../../shared/db/batch'
import type { PostId } from '../../shared/ids'
import {
  liveSnapshotStatements,
  selectNewestPost,
  selectWatchedActivation,
  toLiveSnapshot,
  type WatchedActivation,
} from './live-queries'

/** Registers the WebSockets of the feed, of threads and of activations, open to viewers who can read these. */
export function registerLivePages(app: Hono<HubEnv>): void {
  app.get('/live/feed', socket(watchFeed))
  app.get('/live/posts/:id', socket(watchThread))
  app.get('/live/activations/:id', socket(watchActivation))
}

/**
 * Wraps a handler of WebSocket upgrades: authentication and the handler's statements share one round
 * trip.
 */
const socket = (watch: (c: Context<HubEnv>, read: Read) => Promise<Response>) =>
  declareEntry<Handler<HubEnv>>({ rate: 'connect', body: 'none' }, async (c) => {
    if (c.req.header('upgrade')?.toLowerCase() !== 'websocket') {
      return c.text(upgradeErrors.notWebSocket, 426, { upgrade: 'websocket' })
    }
    try {
      const credential = await readCredential(c)
      // A browser lets any site open a socket and sends the cookie along. A browser without a cookie may
      // be in a network that the site itself cannot reach. Programs send no origin.
      const isBrowser = credential === null && c.req.header('origin') !== undefined
      if (credential?.isSession || isBrowser) requireSameOrigin(c)
      return await watch(c, (statements) => readWithViewer(c, credential, statements))
    } catch (error) {
      const answer = toErrorResponse(c, error)
      if (answer.status === 429) answer.headers.set('retry-after', recountSeconds)
      return answer
    }
  })

/** Until the sockets of an account that has too many are counted again. */
const recountSeconds = String(liveLimits.recountMs / 1_000)

type Read = <Batch extends Statements>(statements: Batch) => Promise<ViewerRead<Batch>>

/** Connects to the live events of a thread. */
async function watchThread(c: Context<HubEnv>, read: Read): Promise<Response> {
  const { live, clock } = c.var.context
  const postId = (c.req.param('id') ?? '') as PostId
  const { viewer, answers } = await read({
    watch: watchTopic(postTopic(postId), clock.now()),
    ...liveSnapshotStatements(postId, await readReader(c)),
  })
  const thread = toLiveSnapshot(answers)
  if (!thread) throw liveErrors.postNotFound()
  if (!live.connect) throw liveErrors.unavailable()
  const { connect } = live
  const tags = toWatcherTags(viewer ?? findAddress(c), thread.communityId)
  return openSocket(c.var.context, tags, () =>
    connect(postTopic(postId), thread.snapshot, c.req.raw, tags),
  )
}

/** Connects to the new posts of the feed, which say no more than that they are there. */
async function watchFeed(c: Context<HubEnv>, read: Read): Promise<Response> {
  const { live, clock } = c.var.context
  const { viewer, answers } = await read({
    watch: watchTopic(feedTopic, clock.now()),
    newest: selectNewestPost({ reader: await readReader(c) }),
  })
  if (!live.connect) throw liveErrors.unavailable()
  const { connect } = live
  const snapshot = { newest: answers.newest?.id ?? null }
  const tags = toWatcherTags(viewer ?? findAddress(c), null)
  return openSocket(c.var.context, tags, () => connect(feedTopic, snapshot, c.req.raw, tags))
}

/** The address of a viewer without an account. */
function findAddress(c: Context<HubEnv>): { address: string } {
  const { context, isLoopback } = c.var
  return { address: findClientAddress(c.req.raw.headers, context.settings, isLoopback).subject }
}

/**
 * Connects to the events of an activation. The agent's own object streams the model's text; with
 * `?view=full` the events contain what the trace does, for viewers who may see all of it. The events of
 * an ended activation are replayed from its log.
 */
async function watchActivation(c: Context<HubEnv>, read: Read): Promise<Response> {
  const { agents, archive } = c.var.context
  const id = c.req.param('id') ?? ''
  const of = await readReader(c)
  const { viewer, answers } = await read({
    activation: selectWatchedActivation({ id, reader: of }),
  })
  const { activation } = answers
  if (!activation) throw liveErrors.activationNotFound()
  const { id: activationId, agentId, communityId } = activation
  const reader = viewer && { id: viewer.id, isAdmin: viewer.role === 'admin' }
  const access = findTraceAccess(reader, activation)
  const after = Number(c.req.query('after')) || 0
  const view = findView(activation, access, c.req.query('view'))
  const log = await openStoredTrace(archive, activation.trace)
  const trace = readTrace(agents, log, view === 'full' ? 'all' : 'none', activation)
  // What an admin opened is closed again in the middle of a run, which may wait for days.
  const until = view === 'full' ? activation.openedUntil : null
  const tags = toWatcherTags(viewer ?? findAddress(c), communityId)
  const aware = activation.usesOwnAccount ? { knowsOwnAccount: true } : {}
  const watched = { activationId, after, view, ...aware, tags }
  if (!trace) {
    const limited = until === null ? watched : { ...watched, until }
    return openSocket(c.var.context, tags, () => agents.watch(agentId, limited, c.req.raw))
  }
  return replayEvents(trace.events.filter(({ seq }) => seq > after))
}

/** Returns the requested view, reduced to what the viewer may see. */
function findView(
  { isForThread }: WatchedActivation,
  access: TraceAccess,
  requested: string | undefined,
): WatchRequest['view'] {
  if (access === 'all' && requested === 'full') return 'full'
  return access !== 'none' || isForThread ? 'thread' : 'outline'
}

/**
 * Returns a socket that sends all events of an ended activation and closes, as the agent's own object
 * does.
 */
function replayEvents(events: readonly object[]): Response {
  const { 0: client, 1: server } = new WebSocketPair()
  server.accept()
  for (const message of [{ type: 'hello', doing: null }, ...events, { type: 'over' }]) {
    server.send(JSON.stringify(message))
  }
  server.close(1000, 'over')
  return new Response(null, { status: 101, webSocket: client })
}
