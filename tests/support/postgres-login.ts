import { env } from 'cloudflare:workers'

const setting = env as unknown as { TEST_POSTGRES_URL: string; TEST_POSTGRES_IS_WHOLE: string }
const address = new URL(setting.TEST_POSTGRES_URL)

/** Of the embedded server, or of the one that ROOKERY_TEST_POSTGRES_URL names. */
export const login = {
  base: `postgres://${address.host}${address.pathname}`,
  user: decodeURIComponent(address.username),
  password: decodeURIComponent(address.password),
}

/** As an admin declares it. */
export const testDatabase = {
  baseUrl: `${login.base}?sslmode=disable`,
  credential: `${login.user}:${login.password}`,
}

/** The embedded one is a single process: nothing interrupts it, and it starts no programs. */
export const isWholeServer = setting.TEST_POSTGRES_IS_WHOLE === 'true'
