import type { AdminAction, GrantApi, Sender } from '../../hub/contract/hub'

interface Target {
  /** Name of a credential, a remote server or, with its server, of a service. */
  name: string
  /** Settings without secrets: headers and values are left out. */
  after?: Record<string, unknown>
}

export type AdminTarget = 'credential' | 'service' | 'remote_server' | 'activation'

/** Records what an admin is about to do, before it is done. */
export const recordAction = (
  hub: Pick<GrantApi, 'recordAdminAction'>,
  admin: Pick<Sender, 'id' | 'keyId'>,
  targetType: AdminTarget,
  action: string,
  { name, after }: Target,
): Promise<void> => {
  const entry: AdminAction = { action: `${targetType}.${action}`, targetType, targetId: name }
  return hub.recordAdminAction(admin, after === undefined ? entry : { ...entry, after })
}

/** The settings of a service that are recorded: its headers can contain secrets. */
export const toServiceSettings = (service: {
  base_url: string
  hosts?: string[] | undefined
  credential?: string | null | undefined
  allow_http?: boolean | undefined
  allow_private?: boolean | undefined
}): Record<string, unknown> => ({
  origin: URL.parse(service.base_url)?.origin ?? null,
  hosts: service.hosts ?? [],
  credential: service.credential ?? null,
  allow_http: service.allow_http ?? false,
  allow_private: service.allow_private ?? false,
})
