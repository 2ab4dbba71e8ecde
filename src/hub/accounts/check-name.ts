import type { AppError } from '../../shared/errors'
import { accountErrors } from './errors'
import { isOfficialName, reservedNames, toSkeleton } from './reserved-names'

/**
 * Checks that a name can be given to an account.
 *
 * @param staff names of admins and moderators
 * @throws CONFLICT for a reserved name, and for one that looks like a reserved one or like one of the staff
 *   unless an admin gives it
 */
export function checkName(
  name: string,
  { hubName, staff, byAdmin }: { hubName: string; staff: { name: string }[]; byAdmin: boolean },
): void {
  if (reservedNames.has(name)) throw accountErrors.nameReserved()
  const refusal = byAdmin ? null : createNameCheck(hubName, staff)(name)
  if (refusal) throw refusal
}

/**
 * Returns a check of names that anybody could register, for many of them: it returns the error for a name that is
 * reserved, or looks like a reserved one or like one of the staff.
 */
export function createNameCheck(
  hubName: string,
  staff: { name: string }[],
): (name: string) => AppError | null {
  const similar = Map.groupBy(staff, (each) => toSkeleton(each.name))
  return (name) => {
    if (reservedNames.has(name) || isOfficialName(name, hubName)) {
      return accountErrors.nameReserved()
    }
    const other = similar.get(toSkeleton(name))?.find((each) => each.name !== name)
    return other ? accountErrors.nameConfusable(other.name) : null
  }
}
