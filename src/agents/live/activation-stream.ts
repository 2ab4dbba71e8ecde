import { streamLimits } from '../../config'
import type { ActivationId } from '../../ids'
import type { RuntimeEvent, Watched } from '../contract'
import type { ToolRequest } from '../loop/message'
import type { Ending } from '../loop/state'
import { type DeltaKind, LiveText } from './live-text'
import { hideInside, toRuntimeEvents } from './runtime-events'
import type { Work } from './work'

/** Besides runtime events, whose `seq` tells them apart. */
type Aside =
  /** The first message. */
  | { type: 'hello'; doing: string | null }
  | { type: 'doing'; doing: string | null }
  | { type: 'tool-progress'; call_id: string; name: string; doing: string }
  /** Keep `from` characters of the text of this model call, add `text`. */
  | { type: 'text-delta' | 'reasoning-delta'; from: number; text: string }
  /** The commit is through and the socket closes: read the page again. */
  | { type: 'over' }

/** What a model call under way has written. */
export interface LiveCall {
  readonly activationId: ActivationId
  readonly text: LiveText
  readonly reasoning: LiveText
}

type Sockets = Pick<DurableObjectState, 'acceptWebSocket' | 'getWebSockets'>

/**
 * Those who watch an agent's activation (L22): hibernating WebSockets on the agent's own object, by
 * activation. What is durable comes as numbered events; text comes while it is written, together with
 * what else came within a tenth of a second. While nobody watches, all that happens is that the text
 * of the model call under way is kept for somebody who comes late.
 */
export class ActivationStream {
  readonly #sockets: Sockets
  readonly #mask: (text: string) => string
  /** Asking the platform has its price: while nobody has come there is nothing to ask. */
  #hasWatchers = false
  #call: LiveCall | null = null
  #timer: ReturnType<typeof setTimeout> | null = null

  /** @param mask leaves out what is shaped like a credential */
  constructor(sockets: Sockets, mask: (text: string) => string) {
    this.#sockets = sockets
    this.#mask = mask
  }

  /** After a hibernation: watchers may be there still. */
  findWatchers(): void {
    this.#hasWatchers = this.#sockets.getWebSockets().length > 0
  }

  /** Answers an upgrade: what was missed, the text so far, then everything as it comes. */
  watch(request: Request, { activationId, after, view }: Watched, work: Work): Response {
    if (request.headers.get('upgrade')?.toLowerCase() !== 'websocket') {
      const headers = { upgrade: 'websocket' }
      return new Response('This is a WebSocket.', { status: 426, headers })
    }
    const watchers = this.#sockets.getWebSockets(activationId).length
    if (watchers >= streamLimits.watchersPerActivationMax) {
      return new Response('Too many people watch this.', { status: 503 })
    }
    // watchers so far and the new one go on from the same text
    if (this.#call?.activationId === activationId) this.#flush(false)
    const { 0: client, 1: server } = new WebSocketPair()
    this.#hasWatchers = true
    this.#sockets.acceptWebSocket(server, [activationId, tagOf(activationId, view)])
    const isMine = work.activationId === activationId
    this.#send([server], { type: 'hello', doing: isMine ? work.doing : null })
    if (isMine) this.#catchUp(server, after, view, work)
    if (!isMine || work.isOver) this.#end([server])
    return new Response(null, { status: 101, webSocket: client })
  }

  /** Whether anybody may be there to be told. */
  get isWatched(): boolean {
    return this.#hasWatchers
  }

  /** The journal has grown by its last event. */
  tell({ activationId, events, ending, isOver }: Work, endingBefore: Ending | null): void {
    if (!activationId || this.#count(activationId) === 0) return
    const all = toRuntimeEvents(events, ending)
    const known = toRuntimeEvents(events.slice(0, -1), endingBefore).length
    for (const event of all.slice(known)) {
      this.#send(this.#of(activationId, 'full'), event)
      const outside = [...this.#of(activationId, 'thread'), ...this.#of(activationId, 'outline')]
      this.#send(outside, hideInside(event))
    }
    if (isOver) this.#end(this.#listen(activationId))
  }

  /** A model call begins: its text starts from nothing. */
  beginCall(activationId: ActivationId): LiveCall {
    this.#stopTimer()
    const text = new LiveText(this.#mask)
    const reasoning = new LiveText(this.#mask)
    this.#call = { activationId, text, reasoning }
    return this.#call
  }

  /** Text as the model writes it. What a call says that is not the newest any more is dropped. */
  addDelta(call: LiveCall, { kind, text }: { kind: DeltaKind; text: string }): void {
    if (call !== this.#call) return
    call[kind].add(text)
    if (this.#timer !== null || this.#count(call.activationId) === 0) return
    this.#timer = setTimeout(() => this.#flush(false), streamLimits.coalesceMs)
  }

  /** The model call is over, with or without an answer. */
  endCall(call: LiveCall): void {
    if (call !== this.#call) return
    this.#flush(true)
    this.#call = null
  }

  /** What the agent does now, in words. */
  tellDoing(activationId: ActivationId, doing: string | null): void {
    this.#send(this.#listen(activationId), { type: 'doing', doing })
  }

  /** A call has got its slot and runs. */
  tellProgress(
    { callId, name }: ToolRequest,
    doing: string,
    activationId: ActivationId | null,
  ): void {
    if (!activationId) return
    const progress = { type: 'tool-progress', call_id: callId, name, doing } as const
    this.#send(this.#listen(activationId), progress)
  }

  #catchUp(socket: WebSocket, after: number, view: Watched['view'], work: Work): void {
    for (const event of toRuntimeEvents(work.events, work.ending).slice(Math.max(0, after))) {
      this.#send([socket], view === 'full' ? event : hideInside(event))
    }
    const call = this.#call
    if (!call || call.activationId !== work.activationId) return
    for (const kind of kindsOf[view]) {
      const text = call[kind].shown
      if (text) this.#send([socket], { type: `${kind}-delta`, from: 0, text }, false)
    }
  }

  #flush(isEnd: boolean): void {
    this.#stopTimer()
    const call = this.#call
    if (!call || this.#count(call.activationId) === 0) return
    const { activationId } = call
    for (const kind of kindsOf.full) {
      const change = call[kind].take(isEnd)
      if (!change) continue
      const full = this.#of(activationId, 'full')
      const watchers = kind === 'text' ? [...full, ...this.#of(activationId, 'thread')] : full
      this.#send(watchers, { type: `${kind}-delta`, ...change }, false)
    }
  }

  #stopTimer(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }

  #listen(tag: string): WebSocket[] {
    return this.#hasWatchers ? this.#sockets.getWebSockets(tag) : []
  }

  #count(activationId: ActivationId): number {
    return this.#listen(activationId).length
  }

  #of(activationId: ActivationId, view: Watched['view']): WebSocket[] {
    return this.#listen(tagOf(activationId, view))
  }

  #end(sockets: WebSocket[]): void {
    this.#send(sockets, { type: 'over' })
    for (const socket of sockets) attempt(() => socket.close(1000, 'over'))
  }

  #send(sockets: WebSocket[], message: RuntimeEvent | Aside, isToMask = true): void {
    if (sockets.length === 0) return
    const mask = (_key: string, value: unknown) =>
      typeof value === 'string' ? this.#mask(value) : value
    const text = JSON.stringify(message, isToMask ? mask : undefined)
    for (const socket of sockets) attempt(() => socket.send(text))
  }
}

const kindsOf = { full: ['reasoning', 'text'], thread: ['text'], outline: [] } as const

const tagOf = (activationId: ActivationId, view: Watched['view']): string =>
  `${activationId} ${view}`

/** A socket that is closing throws; its watcher comes back and says what it has. */
function attempt(act: () => void): void {
  try {
    act()
  } catch {
    // Gone already.
  }
}
