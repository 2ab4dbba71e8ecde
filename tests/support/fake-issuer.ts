import { vi } from 'vitest'

export const issuerUrl = 'https://issuer.test'

/** Settings of a hub that people sign in to with the fake issuer and with GitHub. */
export const identitySettings = {
  ROOKERY_OIDC_ISSUER: issuerUrl,
  ROOKERY_OIDC_CLIENT_ID: 'hub-at-issuer',
  ROOKERY_OIDC_CLIENT_SECRET: 'secret-at-issuer',
  ROOKERY_OIDC_NAME: 'Example Login',
  ROOKERY_GITHUB_CLIENT_ID: 'hub-at-github',
  ROOKERY_GITHUB_CLIENT_SECRET: 'secret-at-github',
}

const encodeJson = (value: object) =>
  btoa(JSON.stringify(value)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')

/** A person at the issuer, and what the issuer says wrongly. */
interface Person {
  sub: string
  email?: string
  /** Claims of the ID token that differ from the right ones. */
  claims?: Record<string, unknown>
}

/**
 * Answers what the hub sends to an OpenID Connect issuer and to GitHub, instead of the network. A code works
 * once, with the verifier of the challenge that it was given for.
 */
export function installFakeIssuer() {
  const codes = new Map<string, { person: Person; challenge: string; nonce: string | null }>()
  const state = { isDown: false, requests: [] as string[] }

  /** Confirms a person at the provider's page; returns where the browser is sent back to. */
  const confirm = (authorizationUrl: string, person: Person): URL => {
    const { searchParams: asked } = new URL(authorizationUrl)
    const code = crypto.randomUUID()
    codes.set(code, {
      person,
      challenge: asked.get('code_challenge') ?? '',
      nonce: asked.get('nonce'),
    })
    const back = new URL(asked.get('redirect_uri') ?? '')
    back.searchParams.set('code', code)
    back.searchParams.set('state', asked.get('state') ?? '')
    return back
  }

  const takeCode = async (request: Request) => {
    const form = new URLSearchParams(await request.text())
    const found = codes.get(form.get('code') ?? '')
    codes.delete(form.get('code') ?? '')
    const verifier = new TextEncoder().encode(form.get('code_verifier') ?? '')
    const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', verifier))
    const challenge = btoa(String.fromCharCode(...digest))
      .replaceAll('+', '-')
      .replaceAll('/', '_')
      .replaceAll('=', '')
    return found?.challenge === challenge ? { ...found, form } : null
  }

  const answer = async (request: Request): Promise<Response> => {
    const { origin, pathname } = new URL(request.url)
    if (pathname === '/.well-known/openid-configuration') {
      return Response.json({
        issuer: issuerUrl,
        authorization_endpoint: `${issuerUrl}/authorize`,
        token_endpoint: `${issuerUrl}/token`,
      })
    }
    if (origin === 'https://api.github.com') {
      const login = request.headers.get('authorization')?.replace('Bearer token-of-', '')
      return Response.json({ id: Number(login), login: `gh-${login}` })
    }
    const taken = await takeCode(request)
    if (!taken) return Response.json({ error: 'invalid_grant' }, { status: 400 })
    const { person, nonce, form } = taken
    if (origin === 'https://github.com') {
      const isKnown = form.get('client_secret') === 'secret-at-github'
      const token = { access_token: `token-of-${person.sub}`, token_type: 'bearer', scope: '' }
      return Response.json(isKnown ? token : { error: 'incorrect_client_credentials' })
    }
    const [, basic = ''] = (request.headers.get('authorization') ?? '').split(' ')
    if (decodeURIComponent(atob(basic)) !== 'hub-at-issuer:secret-at-issuer') {
      return Response.json({ error: 'invalid_client' }, { status: 401 })
    }
    const now = Math.floor(Date.now() / 1_000)
    const claims = {
      iss: issuerUrl,
      aud: 'hub-at-issuer',
      sub: person.sub,
      email: person.email,
      nonce,
      iat: now,
      exp: now + 60,
      ...person.claims,
    }
    const idToken = [encodeJson({ alg: 'RS256' }), encodeJson(claims), 'c2lnbmVk'].join('.')
    return Response.json({ access_token: 'x', token_type: 'Bearer', id_token: idToken })
  }

  const real = globalThis.fetch
  const spy = vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
    const request = new Request(input, init)
    const { host } = new URL(request.url)
    if (!['issuer.test', 'github.com', 'api.github.com'].includes(host)) return real(input, init)
    state.requests.push(request.url)
    if (state.isDown) throw new TypeError('network connection lost')
    return answer(request)
  })
  return { state, confirm, restore: () => spy.mockRestore() }
}
