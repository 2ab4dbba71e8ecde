/** A service outside, as an admin declared it or as its server knows it. */
export interface ServiceDeclaration {
  baseUrl: string
  /** Where else requests may go, as `host` or `host:port`; that of the base URL always may. */
  hosts?: string[]
  /** `{credential}` stands for the credential. */
  headers?: Record<string, string>
  /** Name of the credential to use when neither agent nor community has its own. */
  credential?: string | null
  format?: 'json' | 'any'
  allowHttp?: boolean
  allowPrivate?: boolean
}

/** What a server knows of its services by itself. */
export interface ServiceKind {
  /** Under which its services and credentials are kept; absent: under its own name. */
  server?: string
  /** The declaration when no admin made one; null: an admin has to. A row in `services` overrides it. */
  builtIn(service: string): ServiceDeclaration | null
  /** Further hosts of a built-in service that only its credential tells, such as those of a region. */
  hostsOf?(credential: string): string[]
  /** Further texts to keep out of answers when the credential has parts. */
  secretParts?(credential: string): string[]
  /** What is wrong with a credential, in words for an admin; null: nothing. */
  checkCredential?(credential: string): string | null
  /** What is wrong with a base URL, in words for an admin. Absent: it must be https, or http where allowed. */
  checkBaseUrl?(url: URL): string | null
  /** Its headers carry the credential, so a declaration that names one must say where it goes. */
  isSentInHeader?: boolean
}

/** The kinds by the name under which their services are kept. */
export type ServiceKinds = ReadonlyMap<string, ServiceKind>

export const toServiceKinds = (
  servers: readonly { name: string; services?: ServiceKind }[],
): Map<string, ServiceKind> =>
  new Map(
    servers.flatMap(({ name, services }) =>
      services ? [[services.server ?? name, services] as const] : [],
    ),
  )
