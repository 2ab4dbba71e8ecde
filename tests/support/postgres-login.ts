import { env } from 'cloudflare:workers'

const setting = env as unknown as { TEST_POSTGRES_URL: string; TEST_POSTGRES_IS_WHOLE: string }
const address = new URL(setting.TEST_POSTGRES_URL)

/** Login of the embedded server, or of the one in ROOKERY_TEST_POSTGRES_URL. */
export const login = {
  base: `postgres://${address.host}${address.pathname}`,
  user: decodeURIComponent(address.username),
  password: decodeURIComponent(address.password),
}

/** The test database as an admin declares it. */
export const testDatabase = {
  baseUrl: `${login.base}?sslmode=disable`,
  credential: `${login.user}:${login.password}`,
}

/** False for the embedded server: a single process that cannot be interrupted and starts no programs. */
export const isWholeServer = setting.TEST_POSTGRES_IS_WHOLE === 'true'
