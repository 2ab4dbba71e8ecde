import { awsServer } from './servers/aws'
import { braveServer } from './servers/brave'
import { gitServer } from './servers/git'
import { githubServer } from './servers/github'
import { httpServer } from './servers/http'
import { hubServer } from './servers/hub'
import { memoryServer } from './servers/memory'
import { postgresServer } from './servers/postgres'
import { resultsServer } from './servers/results'
import { skillsServer } from './servers/skills'
import { workspaceServer } from './servers/workspace'
import type { ToolServer } from './tool/define-tool'

/** The built-in tool servers. To add one, write its file in `servers/` and add a line here. */
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
