import { modelGateway } from '../../shared/config'
import { truncateBody } from '../../shared/truncate-body'
import { toWellFormedJson } from './to-sendable'

export type Fetch = (input: RequestInfo | URL, init?: RequestInit) => Promise<Response>

/** What a call learns of its response. */
export interface ResponseListener {
  /** No connection was made, or it broke before any answer. */
  onUnreachable(): void
  /** The server has answered with a success; its body follows. */
  onAnswered(): void
  onBytes(): void
}

/** Listeners of calls, by the calls' abort signals. */
export type ResponseListeners = WeakMap<AbortSignal, ResponseListener>

/**
 * Returns a fetch that notifies the listener of its signal of the response and of arriving bytes, keep-alive comments
 * included, which provider packages do not pass on. Redirects are not followed, because they would
 * forward the key. The body is well-formed Unicode, whatever the texts in it were. What the server sends is read up to a
 * limit: an answer that is longer counts as interrupted.
 */
export function createWatchedFetch(fetch: Fetch, listeners: ResponseListeners): Fetch {
  return async (input, init) => {
    const listener = init?.signal ? listeners.get(init.signal) : undefined
    const body = init?.body
    const sent = typeof body === 'string' ? { body: toWellFormedJson(body) } : {}
    const response = await fetch(input, { ...init, ...sent, redirect: 'manual' }).catch((error) => {
      listener?.onUnreachable()
      throw error
    })
    const { answerBytesMax, errorBytesMax } = modelGateway
    if (!response.ok) return truncateBody(response, errorBytesMax)
    listener?.onAnswered()
    return truncateBody(response, answerBytesMax, listener?.onBytes)
  }
}
