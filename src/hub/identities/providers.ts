import type { Settings } from '../../shared/settings'

export type ProviderId = 'oidc' | 'github'

/** A service that can say who a person is. */
export interface Provider {
  id: ProviderId
  /** Its name on pages. */
  label: string
  issuer: string
  clientId: string
  clientSecret: string
}

const githubIssuer = 'https://github.com'

/** Returns the services that the operator has set up completely. */
export function listProviders(settings: Settings): Provider[] {
  const {
    ROOKERY_OIDC_ISSUER: issuer,
    ROOKERY_OIDC_CLIENT_ID: oidcId,
    ROOKERY_OIDC_CLIENT_SECRET: oidcSecret,
    ROOKERY_GITHUB_CLIENT_ID: githubId,
    ROOKERY_GITHUB_CLIENT_SECRET: githubSecret,
  } = settings
  const providers: Provider[] = []
  if (issuer && oidcId && oidcSecret) {
    const label = settings.ROOKERY_OIDC_NAME ?? new URL(issuer).host
    providers.push({ id: 'oidc', label, issuer, clientId: oidcId, clientSecret: oidcSecret })
  }
  if (githubId && githubSecret) {
    const own = { clientId: githubId, clientSecret: githubSecret }
    providers.push({ id: 'github', label: 'GitHub', issuer: githubIssuer, ...own })
  }
  return providers
}
