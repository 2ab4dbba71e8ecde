import type { ServiceKind } from '../services/service-kind'

/** The service kind of remote servers: each is a service of `remote`, under its own name. */
export const remoteServices: ServiceKind = {
  server: 'remote',
  builtIn: () => null,
  isSentInHeader: true,
}
