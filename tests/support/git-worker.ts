/**
 * `/git` alone, as a Worker for tests with real git on real connections. The service's address comes in
 * `/set-up`, and the hub is a fake one that `/audit` shows.
 */
import { waitUntil } from 'cloudflare:workers'
import { createScrubber } from '../../src/mcp-servers/credentials/scrub'
import { createGuardedFetch, createGuardedStream } from '../../src/mcp-servers/fetch/guarded-fetch'
import { createGateway } from '../../src/mcp-servers/gateway/create-gateway'
import { createGitRoutes } from '../../src/mcp-servers/git-proxy/create-git-routes'
import { createActivationTokens } from '../../src/mcp-servers/outside/activation-token'
import { createAuditedWork } from './git-world'

const world = createAuditedWork()
const credential = 'octo:secret-of-the-service'
const tokens = createActivationTokens([btoa('k'.repeat(32))])

const git = createGitRoutes({
  hub: world.hub.hubApi,
  tokens,
  clock: world.clock,
  defer: waitUntil,
  findRecorder: () => world.recorder,
  openGateway: (servers) =>
    createGateway({
      ...world.stores,
      hub: world.hub.hubApi,
      clock: world.clock,
      servers,
      connect: async ({ service, signal }) => {
        const baseUrl = new URL(world.serviceUrl)
        const reach = { hosts: [baseUrl.host], allowHttp: true, allowPrivate: service !== 'public' }
        const scrubber = createScrubber(credential)
        const connection = {
          service,
          baseUrl,
          credential,
          format: 'any' as const,
          headers: {},
          owner: null,
          hosts: reach.hosts,
          allowPrivate: reach.allowPrivate,
          scrub: scrubber.text,
          guardHost: async () => undefined,
          fetch: createGuardedFetch({ service, reach, hasCredential: true, signal }),
          stream: createGuardedStream({ service, reach, signal }),
        }
        return { connection, scrubber }
      },
    }),
})

export default {
  async fetch(request: Request) {
    const { pathname } = new URL(request.url)
    if (pathname === '/set-up') {
      const claim = world.setUp(await request.json())
      return Response.json(await tokens.issue(claim, world.clock.now()))
    }
    if (pathname === '/audit') return Response.json(world.takeAudit())
    if (pathname === '/calls') return Response.json(world.calls)
    return git(request, { recordCaller() {}, count: async () => null })
  },
}
