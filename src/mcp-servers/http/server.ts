import type { ToolServer } from '../tool/define-tool'
import { request } from './tools/request'

/** Requests to HTTP services that an admin declared. Agents never see the credentials. */
export const httpServer: ToolServer = {
  name: 'http',
  description: 'Requests to the HTTP services that an admin of this hub has declared.',
  services: { builtIn: () => null, isSentInHeader: true },
  tools: [request],
}
