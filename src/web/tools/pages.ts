import type { Hono } from 'hono'
import type { HubEnv } from '../../hub/http/page-entry'
import type { ToolAdminApi } from '../../mcp-servers/contract/tool-admin'
import { registerCredentialPages } from './credential-pages'
import { registerRemotePages } from './remote-pages'

/** Registers `/credentials` and `/tools/remote`. Forms with a credential's value go to mcp-servers. */
export function registerToolAdminPages(app: Hono<HubEnv>, toolAdmin: ToolAdminApi): void {
  registerCredentialPages(app, toolAdmin)
  registerRemotePages(app, toolAdmin)
}
