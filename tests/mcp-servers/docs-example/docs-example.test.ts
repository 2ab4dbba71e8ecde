import { expect, it } from 'vitest'
import page from '../../../docs/extending.md?raw'
import type { Connect } from '../../../src/mcp-servers/credentials/connection'
import { createScrubber } from '../../../src/mcp-servers/credentials/scrub'
import type { ServiceRequest } from '../../../src/mcp-servers/fetch/guarded-fetch'
import { createGateway } from '../../../src/mcp-servers/gateway/create-gateway'
import { fakeConnect } from '../../support/fake-connect'
import { createFakeClock, createFakeHubApi, scoutAtWork } from '../../support/fake-hub-api'
import { fakeMemory } from '../../support/fake-memory'
import { testFileStores } from '../../support/file-stores'
import { deeplServer } from './deepl'
import exampleText from './deepl?raw'

const secret = 'deepl-key-0123456789'

/** The real gateway before the example; its service answers with what `said` is. */
function setUp(said: { status: number; body: string; type?: string }, allowed = ['deepl:*']) {
  const sent: ServiceRequest[] = []
  const connect: Connect = async (ask) => {
    const { connection } = await fakeConnect(ask)
    const declared = deeplServer.services?.builtIn(ask.service)
    const headers = { authorization: `DeepL-Auth-Key ${secret}` }
    const answer = {
      status: said.status,
      text: said.body,
      bytes: said.body.length,
      isTruncated: false,
      headers: new Headers({ 'content-type': said.type ?? 'application/json' }),
    }
    const fetch = async (request: ServiceRequest) => {
      sent.push(request)
      return answer
    }
    const baseUrl = new URL(declared?.baseUrl ?? '')
    return {
      scrubber: createScrubber(secret),
      connection: { ...connection, baseUrl, headers, fetch },
    }
  }
  const gateway = createGateway({
    ...testFileStores,
    hub: createFakeHubApi({ requested: ['deepl:*'], allowed, denied: [] }).hubApi,
    memory: fakeMemory,
    clock: createFakeClock(),
    servers: [deeplServer],
    connect,
  })
  const call = (args: object) =>
    gateway.call(
      scoutAtWork,
      { callId: 'call-1', tool: 'deepl_translate', arguments: JSON.stringify(args) },
      new AbortController().signal,
    )
  return { call, sent }
}

const german = { text: 'Good morning', language: 'DE' }

it('M1: the example in docs/extending.md is the code that is compiled and run here', () => {
  const [example] = [...page.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, text]) => text)
  expect(example).toBe(exampleText.replaceAll('../../../src/mcp-servers/', '../'))
  expect(`${example}`.split('\n').length).toBeLessThan(60)
})

it('M1: the example translates with its grant, sends its key, and does nothing without the grant', async () => {
  const body = JSON.stringify({ translations: [{ text: `Guten Morgen ${secret}` }] })
  const { call, sent } = setUp({ status: 200, body })
  expect((await call(german)).text).toBe('{"text":"Guten Morgen [redacted]"}')
  expect(sent).toMatchObject([
    { method: 'POST', headers: { authorization: `DeepL-Auth-Key ${secret}` } },
  ])
  expect(sent[0]?.url.href).toBe('https://api-free.deepl.com/v2/translate')
  expect(JSON.parse(sent[0]?.body as string)).toEqual({
    text: ['Good morning'],
    target_lang: 'DE',
  })

  const closed = setUp({ status: 200, body }, ['hub:*'])
  expect((await closed.call(german)).text).toMatch(/^Error: Missing grant deepl:translate/)
  expect(closed.sent).toEqual([])
})

it('M14: the example tells a model what went wrong outside', async () => {
  const texts = [
    { status: 403, body: '{"message":"no"}' },
    { status: 200, body: '<html>Sign in</html>', type: 'text/html' },
  ].map(async (said) => (await setUp(said).call(german)).text)
  expect(await Promise.all(texts)).toEqual([
    expect.stringMatching(/^Error: The service deepl answered 403\./),
    expect.stringMatching(/^Error: The service deepl answered with a web page\./),
  ])
})
