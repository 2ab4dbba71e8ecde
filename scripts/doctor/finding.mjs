// What a check of `npm run doctor` finds.

/**
 * @typedef {'ok' | 'warning' | 'failed'} State `warning`: something does not work as it could; `failed`: it does
 *   not work
 * @typedef {{ check: string, state: State, says: string, fix: string | null }} Finding
 */

/**
 * @param {string} check
 * @param {string} says
 * @returns {Finding}
 */
export const ok = (check, says) => ({ check, state: 'ok', says, fix: null })

/**
 * @param {string} check
 * @param {string} says
 * @param {string} fix
 * @returns {Finding}
 */
export const warn = (check, says, fix) => ({ check, state: 'warning', says, fix })

/**
 * @param {string} check
 * @param {string} says
 * @param {string} fix
 * @returns {Finding}
 */
export const fail = (check, says, fix) => ({ check, state: 'failed', says, fix })
