import { awsServer } from './aws/server'
import { braveServer } from './brave/server'
import type { ToolServer } from './define-tool'
import { githubServer } from './github/server'
import { httpServer } from './http/server'
import { hubServer } from './hub/server'
import { memoryServer } from './memory/server'
import { postgresServer } from './postgres/server'
import { resultsServer } from './results/server'
import { skillsServer } from './skills/server'
import { workspaceServer } from './workspace/server'

/** Every server of this hub. Adding one is its folder and a line here. */
export const servers: ToolServer[] = [
  hubServer,
  memoryServer,
  skillsServer,
  workspaceServer,
  resultsServer,
  httpServer,
  githubServer,
  braveServer,
  awsServer,
  postgresServer,
]

/** Names that no server of others may have. */
export const isOwnServer = (name: string): boolean =>
  name === 'remote' || servers.some((server) => server.name === name)
