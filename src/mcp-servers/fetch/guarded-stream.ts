import { AppError } from '../../shared/errors'
import { fetchErrors } from './errors'
import { type GuardOptions, guardUrl, isRedirect } from './guarded-fetch'

export interface StreamRequest {
  method: string
  url: URL
  headers: Record<string, string>
  body: ReadableStream<Uint8Array> | null
}

/** Sends a request and returns the response with its body unread. The caller redacts what it quotes of it. */
export type GuardedStream = (request: StreamRequest) => Promise<Response>

/**
 * Creates a fetch for bodies that are passed on while they arrive. It checks the URL as `createGuardedFetch`
 * does, and follows no redirect.
 */
export const createGuardedStream =
  (options: Omit<GuardOptions, 'hasCredential' | 'timeoutMs'>): GuardedStream =>
  async ({ url, ...request }) => {
    const { service, signal } = options
    await guardUrl(options, url, signal)
    const response = await fetch(url, { ...request, signal, redirect: 'manual' }).catch(
      (cause: unknown) => {
        throw cause instanceof AppError ? cause : fetchErrors.failed(service, cause)
      },
    )
    if (!isRedirect(response)) return response
    await response.body?.cancel()
    throw fetchErrors.blocked(service, 'it redirects to another address')
  }
