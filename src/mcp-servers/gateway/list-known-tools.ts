import type { KnownTools } from '../../hub/contract'
import type { Tier } from '../contract'
import type { ToolServer } from '../define-tool'
import { intersectGrants } from './grant-pattern'

const tiers: Tier[] = ['read', 'write', 'destructive']

/** What a policy may name of these servers, for who checks one. */
export function listKnownTools(servers: readonly ToolServer[]): KnownTools {
  const tools = servers.flatMap((server) =>
    server.tools.map(({ name, grantShape }) => ({ name: `${server.name}_${name}`, grantShape })),
  )
  return {
    tiers,
    names: tools.map(({ name }) => name),
    needsSome: (pattern) =>
      tools.some(({ grantShape }) => intersectGrants(pattern, grantShape) !== null),
  }
}
