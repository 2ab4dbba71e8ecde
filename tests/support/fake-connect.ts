import type { Connect, OwnAccounts } from '../../src/mcp-servers/credentials/connection'
import { createRecentSecrets, emptyScrubber } from '../../src/mcp-servers/credentials/scrub'
import type { ServiceRequest, ServiceResponse } from '../../src/mcp-servers/fetch/guarded-fetch'
import { awsCredential } from './aws-key'
import { answerGithub, createHub } from './github-answers'
import { issue, pull } from './github-shapes'
import { testDatabase } from './postgres-login'

const listing =
  '<ListBucketResult><Contents><Key>a</Key><Size>1</Size></Contents></ListBucketResult>'
const Parameter = { Type: 'String', Value: 'b', Version: 1, LastModifiedDate: 1 }

/** Responses by server; all others respond with ok. */
const answers: Record<string, (request: ServiceRequest) => { status: number; body?: unknown }> = {
  github: ({ method, url, body }) => {
    const hub = createHub()
    hub.issues.push(issue('acme/tools', 1, { title: 'A leak' }))
    if (method === 'GET')
      hub.pulls.push(pull('acme/tools', 2, { title: 'Better', label: 'acme:topic', base: 'main' }))
    const asked = { hub, url, parts: [], body: body === undefined ? {} : JSON.parse(String(body)) }
    return answerGithub(asked, method, url.pathname.replace('/v1', ''))
  },
  brave: ({ url }) =>
    url.pathname.endsWith('/web/search')
      ? { status: 200, body: { summarizer: { key: 'k' } } }
      : { status: 200, body: { status: 'complete', summary: [{ type: 'token', data: 'Tin.' }] } },
  aws: ({ url, headers }) => {
    const isParameter = headers['x-amz-target'] !== undefined
    return { status: 200, body: isParameter ? { Parameter } : url.search === '' ? 'b' : listing }
  },
}

const fine = () => ({ status: 200, body: { ok: true } })

function answer(server: string, request: ServiceRequest): ServiceResponse {
  const { status, body } = (answers[server] ?? fine)(request)
  const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body)
  const headers = new Headers({ 'content-type': 'application/json' })
  return { status, headers, text, bytes: text.length, isTruncated: false }
}

/** A real database, as its protocol cannot be faked here. */
const realDatabase = {
  baseUrl: new URL(testDatabase.baseUrl),
  credential: testDatabase.credential,
  allowPrivate: true,
}

/** Connects to every service with canned responses, without a network. */
export const fakeConnect: Connect = async ({ server, service, owner }) => ({
  scrubber: emptyScrubber,
  connection: {
    service,
    baseUrl: new URL('https://api.example.com/v1'),
    headers: {},
    format: 'json',
    hosts: ['api.example.com'],
    allowPrivate: false,
    owner: owner?.id ?? null,
    credential: server === 'aws' ? awsCredential : null,
    scrub: (text) => text,
    guardHost: async () => undefined,
    fetch: async (request) => answer(server, request),
    ...(server === 'postgres' && realDatabase),
  },
})

/** Nobody has connected an account. */
export const noOwnAccounts: OwnAccounts = {
  open: async ({ name }) => {
    throw new Error(`No account of ${name} is to be opened.`)
  },
}

/** What a connection needs where nobody has connected an account. */
export const createOwnless = () => ({ known: createRecentSecrets(), ownAccounts: noOwnAccounts })
