import { awsServer } from './aws/server'
import { braveServer } from './brave/server'
import { gitServer } from './git/server'
import { githubServer } from './github/server'
import { httpServer } from './http/server'
import { hubServer } from './hub/server'
import { memoryServer } from './memory/server'
import { postgresServer } from './postgres/server'
import { resultsServer } from './results/server'
import { skillsServer } from './skills/server'
import type { ToolServer } from './tool/define-tool'
import { workspaceServer } from './workspace/server'

/** The built-in tool servers. To add one, create its folder and add a line here. */
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

/** All that policies, services and credentials name: the tools, and git, which is not called as a tool. */
export const namedServers: ToolServer[] = [...servers, gitServer]

/** Whether a name belongs to a built-in server and cannot be used for a remote one. */
export const isBuiltInServer = (name: string): boolean =>
  name === 'remote' || namedServers.some((server) => server.name === name)
