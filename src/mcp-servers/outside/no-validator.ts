/**
 * Stands in for `ajv` and `ajv-formats` in the bundle (see `wrangler.toml`): the MCP SDK imports them
 * for a validator that is never made, because every server and client here brings its own.
 */
export default class NoValidator {
  constructor() {
    throw new Error('Pass a jsonSchemaValidator: compiling schemas is not allowed in Workers.')
  }
}
