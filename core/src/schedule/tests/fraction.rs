//! Exact fractions, so that the derivation can be judged without its own arithmetic.

use std::cmp::Ordering;

/// A fraction in lowest terms; its denominator is positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fraction {
    numerator: i128,
    denominator: i128,
}

impl Fraction {
    pub(super) fn new(numerator: i128, denominator: i128) -> Self {
        assert!(denominator > 0, "{numerator} / {denominator}");
        let (mut a, mut b) = (numerator.abs(), denominator);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        Self { numerator: numerator / a, denominator: denominator / a }
    }

    pub(super) fn whole(number: i128) -> Self {
        Self::new(number, 1)
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self::new(self.numerator * other.denominator + other.numerator * self.denominator, self.denominator * other.denominator)
    }

    pub(super) fn minus(self, other: Self) -> Self {
        self.plus(Self::new(-other.numerator, other.denominator))
    }

    pub(super) fn times(self, other: Self) -> Self {
        Self::new(self.numerator * other.numerator, self.denominator * other.denominator)
    }

    /// By a positive number.
    pub(super) fn over(self, other: Self) -> Self {
        Self::new(self.numerator * other.denominator, self.denominator * other.numerator)
    }

    /// The greatest whole number that is not greater.
    pub(super) fn floor(self) -> i128 {
        let towards_zero = self.numerator / self.denominator;
        if towards_zero * self.denominator > self.numerator { towards_zero - 1 } else { towards_zero }
    }

    /// The least whole number that is not less.
    pub(super) fn ceiling(self) -> i128 {
        let towards_zero = self.numerator / self.denominator;
        if towards_zero * self.denominator < self.numerator { towards_zero + 1 } else { towards_zero }
    }

    pub(super) fn is_whole(self) -> bool {
        self.denominator == 1
    }
}

impl PartialOrd for Fraction {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Fraction {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.numerator * other.denominator).cmp(&(other.numerator * self.denominator))
    }
}

#[test]
fn a_fraction_is_what_paper_says() {
    let half = Fraction::new(-3, 6);
    assert_eq!((half, half.floor(), half.ceiling()), (Fraction::new(-1, 2), -1, 0));
    assert_eq!((Fraction::new(7, 2).floor(), Fraction::new(7, 2).ceiling()), (3, 4));
    assert_eq!((Fraction::new(-7, 2).floor(), Fraction::new(-7, 2).ceiling()), (-4, -3));
    assert_eq!((Fraction::whole(-4).floor(), Fraction::whole(4).ceiling()), (-4, 4));
    let (third, sixth) = (Fraction::new(1, 3), Fraction::new(1, 6));
    assert_eq!((third.plus(sixth), third.minus(sixth), third.times(sixth)), (Fraction::new(1, 2), sixth, Fraction::new(1, 18)));
    assert!(third.over(sixth) == Fraction::whole(2) && third.over(sixth).is_whole() && sixth < third && half < sixth);
}
