import type { Connect } from '../../src/mcp-servers/credentials/connection'
import { noScrubber } from '../../src/mcp-servers/credentials/scrub'

/** Opens every service and has it answer the same, without a network. */
export const fakeConnect: Connect = async ({ service }) => ({
  scrubber: noScrubber,
  connection: {
    service,
    baseUrl: new URL('https://api.example.com/v1'),
    headers: {},
    format: 'json',
    hosts: ['api.example.com'],
    allowPrivate: false,
    credential: null,
    fetch: async () => ({
      status: 200,
      headers: new Headers({ 'content-type': 'application/json' }),
      text: '{"ok":true}',
      bytes: 11,
      isCut: false,
    }),
  },
})
