import { request } from '@octokit/request'
import { github } from '../../shared/config'
import type { Connection } from '../credentials/connection'
import { checkJson } from '../fetch/explain-answer'
import type { ServiceRequest } from '../fetch/guarded-fetch'
import { githubErrors } from './errors'
import { explainFailure } from './explain-failure'

export type GithubClient = ReturnType<typeof openGithub>

/** Creates a client of GitHub's API, whose requests all use the guarded fetch. */
export function openGithub(outside: Connection | null, options: FetchOptions = {}) {
  if (!outside) throw new Error('The gateway opens the service first.')
  return request.defaults({
    baseUrl: outside.baseUrl.href.replace(/\/$/, ''),
    headers: { 'user-agent': 'Rookery', 'x-github-api-version': github.apiVersion },
    request: {
      fetch: toFetch(outside, options),
      log: silent,
      hook: async (send: typeof request, options: Parameters<typeof request>[0]) => {
        try {
          return await send(options)
        } catch (failure) {
          throw explainFailure(failure)
        }
      },
    },
  })
}

const silent = { debug() {}, info() {}, warn() {}, error() {} }

/** The response headers that the client uses. */
const keptHeaders = [
  'content-type',
  'link',
  'retry-after',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
]

type FetchOptions = Pick<ServiceRequest, 'isDecodedLater'>

function toFetch(outside: Connection, options: FetchOptions): typeof fetch {
  return async (input, init) => {
    const answer = await outside.fetch({
      method: init?.method ?? 'GET',
      url: new URL(String(input)),
      headers: { ...(init?.headers as Record<string, string>), ...outside.headers },
      bytesMax: github.answerBytesMax,
      ...options,
      ...(typeof init?.body === 'string' && { body: init.body }),
    })
    if (answer.isTruncated) throw githubErrors.responseTooLarge()
    if (answer.status < 500) checkJson('github', answer)
    const headers = keptHeaders.flatMap((name) => {
      const value = answer.headers.get(name)
      return value === null ? [] : [[name, value] as [string, string]]
    })
    const hasBody = answer.status !== 204 && answer.status !== 304
    return new Response(hasBody ? answer.text : null, { status: answer.status, headers })
  }
}
