import { gitProxy } from '../../shared/config'
import type { Connection } from '../credentials/connection'
import { excerpt } from '../fetch/explain-answer'
import { joinPath } from '../fetch/join-path'
import { readText } from '../fetch/read-text'
import { gitErrors } from '../git/errors'
import { toLoginHeader } from '../git/server'
import { hidePushOptions } from './hide-push-options'
import type { GitRequest } from './read-git-request'

export interface Exchange {
  /** The answer of the service, whose body arrives while it is read. */
  answer: Promise<Response>
  /** Sends the request. Ends when the answer has been passed on completely. */
  send(connection: Connection): Promise<{ bytes: number }>
}

const types: Record<GitRequest['kind'], string> = {
  fetch_refs: 'application/x-git-upload-pack-advertisement',
  fetch_objects: 'application/x-git-upload-pack-result',
  begin_push: 'application/x-git-receive-pack-advertisement',
  push: 'application/x-git-receive-pack-result',
}

/** Creates the passing on of one request to the service of its repository, and of the answer. */
export function createExchange(
  asked: GitRequest,
  request: Request,
  body: ReadableStream<Uint8Array> | null,
): Exchange {
  const begun = Promise.withResolvers<Response>()
  return {
    answer: begun.promise,
    async send(connection) {
      const { service, stream, baseUrl, credential } = connection
      if (!stream) throw gitErrors.noStream()
      const received = await stream({
        method: request.method,
        url: joinPath(baseUrl, asked.path, asked.query),
        headers: {
          ...selectHeaders(request),
          ...connection.headers,
          ...toLoginHeader(credential),
        },
        body,
      })
      if (!received.ok) {
        const { text } = await readText(received, gitProxy.errorBytesMax)
        throw gitErrors.refused(service, received.status, excerpt(connection.scrub(text ?? '')))
      }
      // A push that lists no refs is answered without a body and its type.
      const type = received.headers.get('content-type')
      if (type !== types[asked.kind]) {
        await received.body?.cancel()
        throw gitErrors.notGit(service)
      }
      const isPushBegin = asked.kind === 'begin_push'
      const counted = countBytes(isPushBegin ? hidePushOptions(received.body) : received.body)
      const headers = { 'content-type': type }
      begun.resolve(new Response(counted.body, { headers }))
      return { bytes: await counted.bytes }
    },
  }
}

/** Returns the headers of git that the service needs. */
function selectHeaders({ headers }: Request): Record<string, string> {
  const kept = ['accept', 'content-type', 'content-encoding', 'git-protocol']
  const agent = headers.get('user-agent') ?? ''
  return {
    ...Object.fromEntries(
      kept.flatMap((name) => {
        const value = headers.get(name)
        return value === null ? [] : [[name, value]]
      }),
    ),
    // Services answer only to what calls itself git.
    'user-agent': /^git\/[\w.() -]{1,60}$/.test(agent) ? agent : 'git/2',
  }
}

/** Passes on a body as it is read. `bytes` is its length, and fails when it breaks or its reader leaves. */
function countBytes(source: ReadableStream<Uint8Array> | null) {
  const ended = Promise.withResolvers<number>()
  const reader = source?.getReader()
  let length = 0
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const part = await reader?.read()
        if (part?.value === undefined) {
          controller.close()
          ended.resolve(length)
          return
        }
        length += part.value.length
        controller.enqueue(part.value)
      } catch (error) {
        ended.reject(error)
        controller.error(error)
      }
    },
    async cancel(reason) {
      ended.reject(new Error('The caller disconnected.'))
      await reader?.cancel(reason)
    },
  })
  return { body, bytes: ended.promise }
}
