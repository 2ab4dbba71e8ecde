import type { ToolServer } from '../define-tool'
import { request } from './tools/request'

/** HTTP services that an admin declared; agents use them without ever seeing a credential. */
export const httpServer: ToolServer = {
  name: 'http',
  description: 'Requests to the HTTP services that an admin of this hub has declared.',
  services: { builtIn: () => null, isSentInHeader: true },
  tools: [request],
}
