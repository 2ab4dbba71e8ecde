import type { ServiceKind } from '../services/service-kind'

/** Servers of others are services of `remote`, each under its own name; an admin adds them all. */
export const remoteServices: ServiceKind = {
  server: 'remote',
  builtIn: () => null,
  isSentInHeader: true,
}
