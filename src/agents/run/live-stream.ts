import { ClosedTags } from '../../hub/contract/hub'
import { hasTooManySockets, watcherEndedCode } from '../../hub/contract/live-event'
import { liveLimits, streamLimits } from '../../shared/config'
import type { ActivationId } from '../../shared/ids'
import { renderMarkdown, unlinkUnknownNames } from '../../shared/markdown/render-markdown'
import type { RunAccess, RuntimeEvent, WatchRequest } from '../contract/agents'
import type { LoopEvent } from '../loop/event'
import type { ToolRequest } from '../loop/message'
import { hasUsedOwnAccount } from '../loop/privacy'
import type { Ending } from '../loop/state'
import type { Delta } from '../models/model-port'
import { toRuntimeEvents } from './live-events'
import { redactRunLog } from './redact'
import { toRunLog } from './run-log'

/** A message without `seq`, sent besides runtime events. */
type StreamMessage =
  /** The first message on a connection. */
  | { type: 'hello'; doing: string | null }
  | { type: 'doing'; doing: string | null }
  /** A tool call has started, or, with `text`, says how far it is. */
  | { type: 'tool-progress'; call_id: string; name: string; doing: string; text?: string }
  /** Keep `from` characters of the text of this model call, add `text`. */
  | { type: 'text-delta' | 'reasoning-delta'; from: number; text: string }
  /** The text of this model call up to character `to`, rendered: keep the HTML of the first `from`, append `html`. */
  | ({ type: 'text-html' } & HtmlChange)
  /** The activation has committed and the socket closes: reload the page. */
  | { type: 'over' }

/** The text and reasoning of a running model call so far. */
export interface LiveCall {
  readonly activationId: ActivationId
  readonly text: LiveText
  readonly reasoning: LiveText
  readonly html: LiveHtml
}

type Sockets = Pick<DurableObjectState, 'acceptWebSocket' | 'getWebSockets'>

/**
 * Sends an agent's activation to its watchers: hibernating WebSockets on the agent's own object, by
 * activation. Journaled events are numbered. Text is sent while it is written, coalesced over
 * `streamLimits.coalesceMs`. Without watchers, only the text of the running model call is kept, for
 * watchers who connect later.
 */
export class ActivationStream {
  readonly #sockets: Sockets
  readonly #mask: (text: string) => string
  readonly #closed = new ClosedTags(liveLimits.closedMs)
  /** Whether there can be watchers: asking the platform for sockets is expensive. */
  #hasWatchers = false
  #call: LiveCall | null = null
  #timer: ReturnType<typeof setTimeout> | null = null

  /** @param mask masks whatever is shaped like a credential */
  constructor(sockets: Sockets, mask: (text: string) => string) {
    this.#sockets = sockets
    this.#mask = mask
  }

  /** Finds watchers that are still connected after a hibernation. */
  findWatchers(): void {
    this.#hasWatchers = this.#sockets.getWebSockets().length > 0
  }

  /** Answers an upgrade; sends missed events and the text so far, then everything as it occurs. */
  watch(request: Request, watched: WatchRequest, work: ActivationSnapshot): Response {
    const { activationId, after, view, tags = [], until } = watched
    if (request.headers.get('upgrade')?.toLowerCase() !== 'websocket') {
      const headers = { upgrade: 'websocket' }
      return new Response('This endpoint is a WebSocket. Connect with an upgrade request.', {
        status: 426,
        headers,
      })
    }
    if (hasTooManySockets(this.#sockets, tags)) {
      return new Response('Too many live connections are open. Close pages that you do not need.', {
        status: 429,
      })
    }
    const watchers = this.#sockets.getWebSockets(activationId).length
    if (watchers >= streamLimits.watchersPerActivationMax) {
      return new Response('This run has too many viewers. Try again later.', { status: 503 })
    }
    const isCurrent = work.activationId === activationId
    const isUnaware = isCurrent && !knowsOfAccount(watched) && hasUsedOwnAccount(work.events)
    if (isUnaware || this.#closed.has(tags, Date.now())) {
      return new Response('Access to this run has just changed. Try again in a few seconds.', {
        status: 503,
      })
    }
    // Flush first, so that all watchers continue from the same text.
    if (this.#call?.activationId === activationId) this.#flush(false)
    const { 0: client, 1: server } = new WebSocketPair()
    this.#hasWatchers = true
    this.#sockets.acceptWebSocket(server, [activationId, tagOf(watched), ...tags])
    if (until !== undefined) server.serializeAttachment({ until } satisfies Attachment)
    this.#send([server], { type: 'hello', doing: isCurrent ? work.doing : null })
    if (isCurrent) this.#sendMissed(server, after, view, work)
    if (!isCurrent || work.isCommitted) this.#end([server])
    return new Response(null, { status: 101, webSocket: client })
  }

  /** Returns what the model writes now, masked; null while it writes nothing. */
  readText(activationId: ActivationId | null): string | null {
    const call = this.#call
    return call && call.activationId === activationId ? call.text.read() || null : null
  }

  countSockets(ownerTag: string): number {
    return this.#sockets.getWebSockets(ownerTag).length
  }

  /** Closes the sockets with any of the tags; for a moment none with them can be opened. */
  disconnect(tags: string[]): void {
    this.#closed.add(tags, Date.now())
    const sockets = tags.flatMap((tag) => this.#sockets.getWebSockets(tag))
    for (const socket of sockets) ignoreErrors(() => socket.close(watcherEndedCode, 'access ended'))
  }

  /** Whether there can be watchers. */
  get isWatched(): boolean {
    return this.#hasWatchers
  }

  /** Sends the runtime events that follow from the journal's last event. */
  publish(
    { activationId, events, ending, isCommitted }: ActivationSnapshot,
    endingBefore: Ending | null,
  ): void {
    if (!activationId || this.#count(activationId) === 0) return
    if (hasUsedOwnAccount(events)) this.#endUnaware(activationId)
    const log = toRunLog(events, ending)
    const sentCount = toRuntimeEvents(toRunLog(events.slice(0, -1), endingBefore)).length
    for (const access of ['all', 'none'] as const) {
      const sockets = viewsOf[access].flatMap((view) => this.#findByView(activationId, view))
      if (sockets.length === 0) continue
      const shown = toRuntimeEvents(redactRunLog(log, access))
      for (const event of shown.slice(sentCount)) this.#send(sockets, event)
    }
    if (isCommitted) this.#end(this.#findSockets(activationId))
  }

  /**
   * Starts a model call with empty text and reasoning.
   *
   * @param usesOwnAccount whether the model reads what the account of the requester returned
   */
  beginCall(activationId: ActivationId, usesOwnAccount: boolean): LiveCall {
    this.#stopTimer()
    if (usesOwnAccount) this.#endUnaware(activationId)
    const text = new LiveText(this.#mask)
    const reasoning = new LiveText(this.#mask)
    this.#call = { activationId, text, reasoning, html: new LiveHtml() }
    return this.#call
  }

  /** Adds text as the model writes it. Text of a superseded call is dropped. */
  addDelta(call: LiveCall, { kind, text, isWhole }: Delta): void {
    if (call !== this.#call) return
    call[kind].add(text, isWhole)
    if (this.#timer !== null || this.#count(call.activationId) === 0) return
    this.#timer = setTimeout(() => this.#flush(false), streamLimits.coalesceMs)
  }

  /** Ends a model call, with or without an answer. */
  endCall(call: LiveCall): void {
    if (call !== this.#call) return
    this.#flush(true)
    this.#call = null
  }

  /** Sends a description of what the agent does now. */
  publishDoing(activationId: ActivationId, doing: string | null): void {
    this.#send(this.#findSockets(activationId), { type: 'doing', doing })
  }

  /**
   * Sends that a tool call has started, or what the tool says of its progress. Such a text can quote
   * arguments, so threads do not see it.
   */
  publishProgress(
    { callId, name }: ToolRequest,
    doing: string,
    activationId: ActivationId | null,
    text?: string,
  ): void {
    if (!activationId) return
    const progress = { type: 'tool-progress', call_id: callId, name } as const
    if (text === undefined) {
      this.#send(this.#findSockets(activationId), { ...progress, doing })
      return
    }
    const said = { ...progress, doing: `${doing}: ${text}`, text }
    this.#send(this.#findByView(activationId, 'full'), said)
  }

  #sendMissed(
    socket: WebSocket,
    after: number,
    view: WatchRequest['view'],
    work: ActivationSnapshot,
  ): void {
    const access = viewsOf.all.some((each) => each === view) ? 'all' : 'none'
    const log = redactRunLog(toRunLog(work.events, work.ending), access)
    for (const event of toRuntimeEvents(log).slice(Math.max(0, after))) this.#send([socket], event)
    const call = this.#call
    if (!call || call.activationId !== work.activationId) return
    for (const kind of kindsOf[view]) {
      const text = call[kind].shown
      if (text) this.#send([socket], { type: `${kind}-delta`, from: 0, text }, false)
    }
    const rendered = view === 'outline' ? null : call.html.readAll(call.text.shown)
    if (rendered) this.#send([socket], { type: 'text-html', ...rendered }, false)
  }

  #flush(isEnd: boolean): void {
    this.#stopTimer()
    const call = this.#call
    if (!call) return
    const { activationId } = call
    for (const kind of kindsOf.full) {
      const change = call[kind].take(isEnd)
      if (!change) continue
      const full = this.#findByView(activationId, 'full')
      const watchers =
        kind === 'text' ? [...full, ...this.#findByView(activationId, 'thread')] : full
      this.#send(watchers, { type: `${kind}-delta`, ...change }, false)
      const rendered =
        kind === 'text' && watchers.length > 0 ? call.html.take(call.text.shown, change.from) : null
      if (rendered) this.#send(watchers, { type: 'text-html', ...rendered }, false)
    }
  }

  #stopTimer(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }

  #findSockets(tag: string): WebSocket[] {
    return this.#hasWatchers ? this.#sockets.getWebSockets(tag) : []
  }

  #count(activationId: ActivationId): number {
    return this.#findSockets(activationId).length
  }

  #findByView(activationId: ActivationId, view: WatchRequest['view']): WebSocket[] {
    return [false, true].flatMap((knowsOwnAccount) =>
      this.#findSockets(tagOf({ activationId, view, knowsOwnAccount })),
    )
  }

  /** Closes the sockets of viewers whose access was decided before the run used the account of its requester. */
  #endUnaware(activationId: ActivationId): void {
    for (const view of ['full', 'thread'] as const) {
      for (const socket of this.#findSockets(tagOf({ activationId, view }))) {
        ignoreErrors(() => socket.close(watcherEndedCode, 'access ended'))
      }
    }
  }

  #end(sockets: WebSocket[]): void {
    this.#send(sockets, { type: 'over' })
    for (const socket of sockets) ignoreErrors(() => socket.close(1000, 'over'))
  }

  #send(sockets: WebSocket[], message: RuntimeEvent | StreamMessage, needsMask = true): void {
    if (sockets.length === 0) return
    const mask = (_key: string, value: unknown) =>
      typeof value === 'string' ? this.#mask(value) : value
    const text = JSON.stringify(message, needsMask ? mask : undefined)
    const now = Date.now()
    for (const socket of sockets) {
      ignoreErrors(() =>
        hasEnded(socket, now) ? socket.close(watcherEndedCode, 'access ended') : socket.send(text),
      )
    }
  }
}

/** Which private content the events of each view have. */
const viewsOf = { all: ['full'], none: ['thread', 'outline'] } as const satisfies Partial<
  Record<RunAccess, readonly WatchRequest['view'][]>
>

const kindsOf = { full: ['reasoning', 'text'], thread: ['text'], outline: [] } as const

type Watched = Pick<WatchRequest, 'activationId' | 'view' | 'knowsOwnAccount'>

/** Whether a watcher may stay when the run uses its requester's account: an outline shows no texts. */
const knowsOfAccount = ({ view, knowsOwnAccount = false }: Watched): boolean =>
  view === 'outline' || knowsOwnAccount

const tagOf = ({ activationId, view, knowsOwnAccount = false }: Watched): string =>
  `${activationId} ${view}${knowsOwnAccount ? ' aware' : ''}`

/** What is stored with a socket whose access ends by itself. */
interface Attachment {
  until: number
}

/** Whether the access of a watcher has ended by itself. */
function hasEnded(socket: WebSocket, now: number): boolean {
  const attachment: Attachment | null = socket.deserializeAttachment()
  return attachment !== null && attachment.until <= now
}

/** Ignores errors of a closing socket: its watcher reconnects with the last `seq` it has. */
function ignoreErrors(act: () => void): void {
  try {
    act()
  } catch {
    // The socket is closed.
  }
}

/** State of one activation in the agent's object, for watchers. */
export interface ActivationSnapshot {
  /** Null when the activation is unknown. */
  activationId: ActivationId | null
  events: LoopEvent[]
  ending: Ending | null
  doing: string | null
  /** The activation has committed. */
  isCommitted: boolean
}

/** Returns the id of the journal's activation. */
export const findActivation = (events: LoopEvent[]): ActivationId | null =>
  events.find((event) => event.type === 'woken')?.activationId ?? null

/** Returns a parked activation for watchers; one without id and events when it doesn't exist. */
export function toParkedSnapshot(
  activationId: ActivationId | null,
  parked: { events: LoopEvent[] } | null,
): ActivationSnapshot {
  const rest = { ending: null, doing: null, isCommitted: false }
  return parked
    ? { ...rest, activationId, events: parked.events }
    : { ...rest, activationId: null, events: [] }
}

/** A change that brings a watcher's copy up to date: keep `from` characters, append `text`. */
interface TextChange {
  from: number
  text: string
}

/** Matches an incomplete word at the end, which may be the beginning of a credential. */
const incompleteWord = /[A-Za-z0-9_-]{1,128}$/

/**
 * Text that is shown while it grows. Credentials are masked even while they are incomplete: the last
 * word is held back until the next character ends it.
 */
export class LiveText {
  #raw = ''
  /** The text that watchers have. */
  shown = ''
  readonly #mask: (text: string) => string

  constructor(mask: (text: string) => string) {
    this.#mask = mask
  }

  /** @param isWhole whether the text replaces what was added before */
  add(text: string, isWhole = false): void {
    if (isWhole) this.#raw = ''
    const charsLeft = streamLimits.textCharsMax - this.#raw.length
    if (charsLeft > 0) this.#raw += text.slice(0, charsLeft)
  }

  /** Returns the text so far without its last word. */
  read(): string {
    return this.#mask(this.#raw).replace(incompleteWord, '')
  }

  /** Returns the change since the last call; null if there is none. `isEnd` releases the last word. */
  take(isEnd: boolean): TextChange | null {
    const isFull = this.#raw.length >= streamLimits.textCharsMax
    const next = isEnd && !isFull ? this.#mask(this.#raw) : this.read()
    if (next === this.shown) return null
    const from = countCommonChars(this.shown, next)
    this.shown = next
    return { from, text: next.slice(from) }
  }
}

/** Returns the length of the common prefix. Usually that is all of `before`, unless a mask came late. */
function countCommonChars(before: string, after: string): number {
  if (after.startsWith(before)) return before.length
  let count = 0
  while (count < before.length && before[count] === after[count]) count++
  return count
}

const views = ['full', 'thread', 'outline'] as const

/** Returns an upgrade request for the agent's object, with the watched activation in the query. */
export function toWatchRequest(watched: WatchRequest, request: Request): Request {
  const { activationId, after, view, knowsOwnAccount = false, tags = [], until } = watched
  const query = new URLSearchParams({
    activationId,
    after: String(after),
    view,
    own: knowsOwnAccount ? '1' : '',
    tags: JSON.stringify(tags),
    until: String(until ?? ''),
  })
  return new Request(`https://agent.invalid/?${query}`, request)
}

/** Returns the watched activation from a request that `toWatchRequest` made. */
export function readWatchRequest(request: Request): WatchRequest {
  const query = new URL(request.url).searchParams
  const until = Number(query.get('until'))
  return {
    activationId: (query.get('activationId') ?? '') as ActivationId,
    after: Number(query.get('after')) || 0,
    view: views.find((view) => view === query.get('view')) ?? 'outline',
    knowsOwnAccount: query.get('own') === '1',
    tags: JSON.parse(query.get('tags') ?? '[]'),
    ...(until > 0 && { until }),
  }
}

/** HTML of a growing text: keep what was rendered of its first `from` characters, append `html`, which is up to `to`. */
interface HtmlChange {
  from: number
  to: number
  html: string
}

const nobody: ReadonlySet<string> = new Set()

/**
 * Renders Markdown while it is written: the blocks that are complete, each once, so that the work is proportional to the
 * length of the text. Mentions in it are no links yet, because nobody looked the names up.
 */
export class LiveHtml {
  /** Characters of the text that watchers have as HTML. */
  #end = 0

  /** Returns the HTML of the blocks that a text completes; null for none. @param from the text before it is unchanged */
  take(text: string, from: number): HtmlChange | null {
    const start = from < this.#end ? 0 : this.#end
    const end = findBlockEnd(text, start)
    if (end === this.#end) return null
    this.#end = end
    return { from: start, to: end, html: render(text.slice(start, end)) }
  }

  /** Returns the HTML of all complete blocks, for a watcher without any; null for none. */
  readAll(text: string): HtmlChange | null {
    // While nobody watched, nothing was rendered.
    this.#end = findBlockEnd(text, this.#end)
    if (this.#end === 0) return null
    return { from: 0, to: this.#end, html: render(text.slice(0, this.#end)) }
  }
}

const render = (text: string): string => unlinkUnknownNames(renderMarkdown(text).html, nobody)

const fence = /^ {0,3}(`{3,}|~{3,})/

/**
 * Returns where the last complete block of a Markdown text ends: before a line that follows an empty one and is neither
 * indented, nor in a fenced block of code.
 */
export function findBlockEnd(text: string, start = 0): number {
  let end = start
  let isAfterBlank = false
  let mark: string | null = null
  for (let at = start; at < text.length; ) {
    const next = text.indexOf('\n', at)
    const line = text.slice(at, next < 0 ? text.length : next)
    const isBlank = line.trim() === ''
    if (mark === null && isAfterBlank && !isBlank && !/^\s/.test(line)) end = at
    const [, found] = fence.exec(line) ?? []
    if (mark === null) mark = found ?? null
    else if (found?.startsWith(mark) && line.trim() === found) mark = null
    isAfterBlank = isBlank
    if (next < 0) break
    at = next + 1
  }
  return end
}
