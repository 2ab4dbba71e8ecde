/** An external service, declared by an admin or built into its server. */
export interface ServiceDeclaration {
  baseUrl: string
  /** Further allowed hosts, as `host` or `host:port`; that of the base URL is always allowed. */
  hosts?: string[]
  /** `{credential}` is replaced by the credential. */
  headers?: Record<string, string>
  /** Name of the credential that applies when neither agent nor community has its own. */
  credential?: string | null
  format?: 'json' | 'any'
  allowHttp?: boolean
  allowPrivate?: boolean
}

/** The defaults and checks of a server's services. */
export interface ServiceKind {
  /** The server name of its services and credentials; absent: its own name. */
  server?: string
  /** Returns the built-in declaration; null: an admin has to declare it. A row in `services` overrides it. */
  builtIn(service: string): ServiceDeclaration | null
  /** Returns further hosts of a built-in service that depend on the credential, such as those of a region. */
  hostsOf?(credential: string): string[]
  /** Returns the parts of a credential that are redacted as well. */
  secretParts?(credential: string): string[]
  /** Returns the problem with a credential, for an admin; null: it is valid. */
  checkCredential?(credential: string): string | null
  /** Returns the problem with a base URL, for an admin; null: it is valid. Absent: https, or http where allowed. */
  checkBaseUrl?(url: URL): string | null
  /** The credential is sent in a header, so a declaration with a credential must have one for it. */
  isSentInHeader?: boolean
}

/** Service kinds by the server name of their services. */
export type ServiceKinds = ReadonlyMap<string, ServiceKind>

export const toServiceKinds = (
  servers: readonly { name: string; services?: ServiceKind }[],
): Map<string, ServiceKind> =>
  new Map(
    servers.flatMap(({ name, services }) =>
      services ? [[services.server ?? name, services] as const] : [],
    ),
  )
